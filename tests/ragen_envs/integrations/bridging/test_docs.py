"""What the page of the trainers shows is what happens; trl/test_trainer runs the trainer itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[4] / "docs" / "trainers.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n([^`]*)```\n\n```\n([^`]*)```", PAGE)


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
