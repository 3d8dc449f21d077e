"""The page of the kit: complete, and its examples run."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ragen_envs.testing
from ragen_envs.testing import CHECKS, Subject

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def first_cells(heading):
    """Return the names that the tables of a section begin their rows with."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)", section, re.MULTILINE)


def test_the_tables_are_complete_and_in_order():
    assert first_cells("The checks") == list(CHECKS)
    assert first_cells("Options") == [field.name for field in dataclasses.fields(Subject)]


def test_each_check_is_public_under_its_name():
    for name, check in CHECKS.items():
        assert getattr(ragen_envs.testing, f"check_{name}") is check.function
    for name in ragen_envs.testing.__all__:
        assert getattr(ragen_envs.testing, name) is not None
    for name in first_cells("With Hypothesis"):
        assert hasattr(ragen_envs.testing, name)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number, tmp_path):
    page = tmp_path / "test_page.py"
    page.write_text(EXAMPLES[number], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(page)], cwd=tmp_path, capture_output=True, text=True)
    no_tests = 5  # pytest's status for a file that could be imported and has none
    assert done.returncode == (0 if "test_" in EXAMPLES[number] else no_tests), done.stdout
