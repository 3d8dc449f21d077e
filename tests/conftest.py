import gc
import os
import signal
import sys

# Each test process has a core to itself: threads that share one wait for each other by spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts `make test` in the background lets it ignore Ctrl-C, and what the tests start
# would inherit that; some of them look at how a program ends by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Two busy cores must not fail a property, so nothing here is measured by the clock.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# What others do not offer for newer Pythons: gem-llm is for those up to 3.12.0, verl below 3.13.
collect_ignore = ["ragen_envs/peers"] if sys.version_info >= (3, 12) else []
if sys.version_info >= (3, 13):
    collect_ignore += ["ragen_starpo", "scripts"]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage in what is collected, now or later: a million objects that all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items):
    """Mark the tests that need a browser, Ray or vLLM, see the markers in pyproject.toml."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if "vllm" in item.path.parent.name or item.path.name.startswith("test_vllm"):
            item.add_marker("vllm")
        elif item.path.parent.name == "cluster" or item.path.stem == "test_on_ray":
            item.add_marker("ray")
