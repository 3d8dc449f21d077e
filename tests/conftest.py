import gc
import operator
import os
import re
import signal
import sys
from collections import Counter

# Each test process has a core to itself: threads that share one wait for each other by spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests change games in memory, which the cache cannot see.
os.environ["RAGEN_RECOMPUTE"] = "1"

import pytest
from hypothesis import HealthCheck, settings

from ragen_envs.registration import GAMES, IDS

# A shell that starts `make test` in the background lets it ignore Ctrl-C, and what the tests start
# would inherit that; some of them look at how a program ends by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Two busy cores must not fail a property, so nothing here is measured by the clock.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", settings.get_profile("suite"), max_examples=25)
settings.load_profile("suite")

# What others do not offer for newer Pythons: gem-llm is for those up to 3.12.0, verl below 3.13.
collect_ignore = ["ragen_envs/peers"] if sys.version_info >= (3, 12) else []
if sys.version_info >= (3, 13):
    collect_ignore += ["ragen_starpo", "scripts"]


_WHOLLY_SLOW = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", re.MULTILINE)
_WEIGHTS = {"ray": 1000, "vllm": 1000, "slow": 100}
"""How long a test takes beside one without a marker, roughly."""
_FAST_IDS = {game.ids[0] for game in GAMES}
_FAST_IDS_OF_BRIDGES = {"ragen/Bandit-v0", "ragen/Sokoban-v0", "ragen/FrozenLake-v0"}


def pytest_configure(config):
    """Try a quarter of the examples of each property where the slow tests are left out."""
    if "not slow" in config.option.markexpr:
        settings.load_profile("fast")


def pytest_ignore_collect(collection_path, config):
    """Import no file of which `make check` runs nothing: some load PyTorch, Ray or a browser."""
    if "not slow" not in config.option.markexpr:
        return None
    if collection_path.suffix == ".py":
        return bool(_WHOLLY_SLOW.search(collection_path.read_text(encoding="utf-8"))) or None
    return ("not ray" in config.option.markexpr and collection_path.name == "cluster") or None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage in what is collected, now or later: a million objects that all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _is_of_a_slow_id(item):
    if not hasattr(item, "callspec"):
        return False
    names = {value for value in item.callspec.params.values() if isinstance(value, str)}
    ids = {name if "/" in name else f"ragen/{name}" for name in names} & {*IDS}
    return bool(ids - (_FAST_IDS_OF_BRIDGES if "integrations" in item.path.parts else _FAST_IDS))


def _schedule(items):
    """Give each file a worker of its own, and let the longest files and groups begin.

    So what a file computes once is not computed in each worker. How long one takes is guessed by
    its markers; groups begin first, since each holds files that take long.
    """
    weights = Counter()
    group_of, is_group = {}, {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        group = mark.args[0] if mark else item.path.relative_to(item.config.rootpath).as_posix()
        if not mark:
            item.add_marker(pytest.mark.xdist_group(group))
        group_of[item], is_group[group] = group, bool(mark)
        marked = (w for name, w in _WEIGHTS.items() if item.get_closest_marker(name))
        weights[group] += next(marked, 1)
    items.sort(key=lambda item: (not is_group[group_of[item]], -weights[group_of[item]]))


# Before xdist adds the names of groups to those of the tests.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests that need a browser, Ray or vLLM, see the markers in pyproject.toml.

    A test that is repeated for ids is fast for the first id of each game, or for those of three
    games where it plays through a bridge, and slow for the others.
    """
    function_of = operator.attrgetter("path", "originalname")
    first = {function_of(item) for item in items if not _is_of_a_slow_id(item)}
    for item in items:
        if _is_of_a_slow_id(item) and function_of(item) in first:
            item.add_marker("slow")
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if "vllm" in item.path.parent.name or item.path.name.startswith("test_vllm"):
            item.add_marker("vllm")
        elif item.path.parent.name == "cluster" or item.path.stem == "test_on_ray":
            item.add_marker("ray")
    if hasattr(config, "workerinput"):  # of xdist
        _schedule(items)
