"""What the docs show is what happens."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("inspect")]  # which takes seconds to import
PAGE = (Path(__file__).parents[3] / "docs" / "inspect.md").read_text(encoding="utf-8")
[(CODE, SHOWN)] = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # In this process, since Inspect takes seconds to import.
    with redirect_stdout(StringIO()) as printed:
        exec(CODE, {"__name__": "example"})
    assert printed.getvalue() == SHOWN
    assert len(list((tmp_path / "logs").iterdir())) == 1
