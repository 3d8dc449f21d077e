"""The table of the bridges, and what the page of the trainers shows.

trl/test_trainer runs the trainer itself.
"""

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ragen_envs.integrations.bridging import players as players_of_bridges

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs"
PAGE = (DOCS / "trainers.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \[(.*?)\]\((\S+)#(\S+)\) \| `(\S+)` (\S+) \|",
    (DOCS / "bridges.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""Each ecosystem with the page and section of its example, its distribution and version."""
EXAMPLES = re.findall(r"```python\n([^`]*)```\n\n```\n([^`]*)```", PAGE)


def test_every_bridge_has_a_row():
    players = {module.name for module in pkgutil.iter_modules(players_of_bridges.__path__)}
    assert players - {"vector"} <= {name.lower().replace(" ", "_") for name, *_ in ROWS}


@pytest.mark.parametrize(("name", "page", "section", "package", "version"), ROWS)
def test_a_row_has_the_version_of_the_tests_and_an_example(name, page, section, package, version):
    pins = "\n".join(path.read_text() for path in ROOT.glob("constraints*.txt"))
    assert f"\n{package}=={version}\n" in pins
    text = (DOCS / page).read_text(encoding="utf-8")
    sections = {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-"): body
        for heading, body in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE)
    }
    assert "```" in sections[section]


def test_every_example_but_the_trainers_shows_what_it_prints():
    assert len(EXAMPLES) == PAGE.count("```python") - 1 == 4


@pytest.mark.slow
@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["gem", "skyrl", "trl", "tools"])
def test_the_examples_print_what_they_show(tmp_path, code, shown):
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == shown
    assert done.stderr == ""
