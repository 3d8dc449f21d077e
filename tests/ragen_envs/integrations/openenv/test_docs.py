"""What docs/openenv.md shows is what happens."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import gymnasium
import pytest

from ragen_envs.integrations.openenv import Limits
from ragen_envs.integrations.openenv.environment import MAX_RANGE, PREVIEW

from .running import running

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[4] / "docs" / "openenv.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
URL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def url():
    with running("ragen/FrozenLake-v0") as address:
        yield address


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["play", "app", "kit"])
def test_the_examples_print_what_they_show(url, code, shown):
    printed = StringIO()
    with redirect_stdout(printed):
        exec(code.replace(URL, url), {})
    assert printed.getvalue() == shown


def test_a_server_is_registered_for_the_harness(url, tmp_path):
    [code] = re.findall(r'```python title="my_server.py"\n(.*?)```', PAGE, re.DOTALL)
    exec(code.replace(URL, url), {})
    env = gymnasium.make("remote/Lake-v0", split="test", disable_env_checker=True)
    assert "frozen lake" in env.reset(seed=0)[0]
    env.close()
    gymnasium.registry.pop("remote/Lake-v0")


def test_the_numbers_on_the_page_are_those_of_the_code():
    limits = Limits()
    for option, value in (
        ("max-sessions", limits.max_sessions),
        ("idle-timeout", f"{limits.idle_timeout:g}"),
        ("max-message", limits.max_message),
    ):
        assert f"| `--{option}` | {value} |" in PAGE
    assert f"the first {PREVIEW:,} of `train`" in PAGE
    assert f"at most {MAX_RANGE:,}" in PAGE
