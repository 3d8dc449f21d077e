"""Every page of the documentation is reached from the README."""

from .links import ROOT, targets


def linked(page):
    return {target.resolve() for target in targets(page) if target.suffix == ".md"}


def test_no_page_is_an_orphan():
    reached, new = set(), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {page for one in new for page in linked(one) if page.is_file()} - reached
    assert set((ROOT / "docs").rglob("*.md")) - reached == set()
