"""What the docs show is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[4] / "docs" / "pettingzoo.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


def test_there_is_one_example_for_each_mode():
    assert len(EXAMPLES) == PAGE.count("```python") == 3


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["shared", "duel", "questions"])
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
