"""The page says what is pinned, and its scripts, which do without the kit, print what they show."""

import contextlib
import io
import random
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from ragen_envs.testing import CHECKS
from tests.ragen_envs.peers.expected import FAILS, SKIPPED

PAGE = (Path(__file__).parents[3] / "docs" / "findings.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
MARKS = {"✗": "failed", "–": "skipped", "": "passed"}  # noqa: RUF001


def rows(heading):
    """Return the cells of the first table whose first heading is given, row by row."""
    table = re.search(rf"^\| {heading} \|.*?(?=\n\n|\Z)", PAGE, re.MULTILINE | re.DOTALL)[0]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    return [cells[0], *cells[2:]]


@pytest.fixture
def _global_generators():
    python, numpy = random.getstate(), np.random.get_state()
    yield
    random.setstate(python)
    np.random.set_state(numpy)


def test_the_table_is_what_is_pinned():
    (_, *names), *lines = rows("check")
    assert [peer.replace("Gymnasium ", "").replace("game:", "") for peer in FAILS] == names
    shown = {line[0].strip("`"): [MARKS[mark] for mark in line[1:]] for line in lines}
    failing = [name for name in CHECKS if any(name in fails for fails in FAILS.values())]
    assert shown == {
        name: [
            "failed" if name in FAILS[peer] else "skipped" if name in SKIPPED[peer] else "passed"
            for peer in FAILS
        ]
        for name in failing
    }


def test_each_failing_check_has_its_finding():
    findings = PAGE[PAGE.index("## A seeded reset") :]
    for name in {name for fails in FAILS.values() for name in fails}:
        assert f"`{name}`" in findings


@pytest.mark.parametrize(
    ("name", "distribution"),
    [("Gymnasium", "gymnasium"), ("TextArena", "textarena"), ("gem-llm", "gem-llm")],
)
def test_the_versions_are_those_that_run_here(name, distribution):
    assert f"{name} {version(distribution)}" in " ".join(PAGE.split())


@pytest.mark.usefixtures("_global_generators")
@pytest.mark.parametrize(("code", "shown"), SCRIPTS, ids=map(str, range(len(SCRIPTS))))
def test_the_scripts_print_what_they_show(code, shown):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/findings.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown


def test_every_script_is_run():
    assert len(SCRIPTS) == PAGE.count("```python") == 10
