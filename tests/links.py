"""The links of a page that lead into this repository."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = PROJECT["urls"]["Source"] + "/blob/main/"


def targets(page):
    """Return the files that a page links, by relative addresses or by those of the repository."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)|^\[[^]]+\]: ([^\s#]+)", text, re.MULTILINE)
    for link in map("".join, links):
        if link.startswith(OURS):
            yield ROOT / link.removeprefix(OURS)
        elif not re.match(r"\w+:", link):
            yield page.parent / link
