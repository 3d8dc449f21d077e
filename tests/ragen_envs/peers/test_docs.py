"""The page says what is pinned, and its scripts, which do without the kit, print what they show."""

import contextlib
import io
import random
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from tests.ragen_envs.peers.tables import by_environment, by_library, not_made, records

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "findings.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


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


@pytest.mark.parametrize("table", [by_library, not_made, by_environment])
def test_the_tables_are_made_of_the_records(table):
    assert f"\n\n{table()}\n\n" in f"{PAGE}\n"


def test_there_are_thirty_environments_of_others():
    assert sum(len(record["environments"]) for record in records().values()) >= 30


def test_each_failing_check_has_its_finding():
    findings = PAGE[PAGE.index("## A seeded reset") : PAGE.index("## By environment")]
    for record in records().values():
        for found in record["environments"].values():
            for name in found["failed"]:
                assert f"`{name}`" in findings


@pytest.mark.parametrize("library", ["gymnasium", "textarena", "gem", "reasoning_gym", "openenv"])
def test_the_versions_are_those_that_run_here(library):
    record = records()[library]
    assert record["version"] == version(record["package"])


@pytest.mark.usefixtures("_global_generators")
@pytest.mark.parametrize(("code", "shown"), SCRIPTS, ids=map(str, range(len(SCRIPTS))))
def test_the_scripts_print_what_they_show(code, shown):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/findings.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown


def test_every_script_is_run():
    assert len(SCRIPTS) == PAGE.count("```python") == 16
