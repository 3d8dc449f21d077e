"""Every page of the documentation is reached from the README."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def linked(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", text)
    return {(page.parent / link).resolve() for link in links}


def test_no_page_is_an_orphan():
    reached, new = set(), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {page for one in new for page in linked(one) if page.is_file()} - reached
    assert set((ROOT / "docs").rglob("*.md")) - reached == set()
