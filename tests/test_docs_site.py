"""The documentation site builds without a warning, and is whole without a network."""

import ast
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from .links import PROJECT, ROOT

HOME = PROJECT["urls"]["Documentation"]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


class Page(HTMLParser):
    """A page's own ids, where its links lead, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if "href" in attrs:
            kept = tag == "a" or attrs.get("rel") in ("canonical", "prev", "next")
            (self.links if kept else self.loads).add(attrs["href"])
        self.loads.add(attrs.get("src") or "")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for package in ("ragen_envs", "ragen_bench", "trainers"):
        (folder / package).symlink_to(ROOT / package)
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.sub(r"Build finished in .*", "", done.stdout + done.stderr).split("\n") == [
        "Build started", "", "No issues found", "",
    ], done.stdout + done.stderr  # fmt: skip
    return folder / "build" / "site"


@pytest.fixture(scope="module")
def pages(built):
    """The pages by their addresses."""
    return {
        HOME + str(path.relative_to(built)).removesuffix("index.html"): Page(path.read_text())
        for path in built.rglob("*.html")
    }


def test_every_page_of_the_docs_is_in_the_navigation(built, pages):
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r"- (\S+\.md)$", nav, re.MULTILINE)) == written
    assert len(pages) == len(written) + 1  # 404.html


def test_links_and_their_anchors_lead_somewhere(built, pages):
    for address, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(urljoin(address, link))
            if not target.startswith(HOME):
                assert link.startswith("https://"), (address, link)
            elif target in pages:
                assert not anchor or unquote(anchor) in pages[target].ids, (address, link)
            else:
                assert (built / target.removeprefix(HOME)).is_file(), (address, link)


def test_nothing_is_loaded_from_elsewhere(pages):
    for address, page in pages.items():
        for load in page.loads:
            assert urljoin(address, load).startswith((HOME, "data:")), (address, load)


def test_the_reference_has_every_public_name(pages):
    ids = {id for address, page in pages.items() if "/api/" in address for id in page.ids}
    named = set(re.findall(r"^::: (\S+)", "".join(map(_text, (ROOT / "docs/api").iterdir())), re.M))
    packages = [name for name in sorted(named) if (ROOT / _init(name)).is_file()]
    assert len(packages) > 5
    missing = [
        (package, name)
        for package in packages
        for name in _public_names(package)
        if not {f"{package}.{name}", f"{package}.{name}.{name}"} & ids
    ]
    assert missing == []


def _public_names(package):
    source = _text(ROOT / _init(package))
    return ast.literal_eval(re.search(r"__all__ = (\[.*?\])", source, re.DOTALL)[1])


def _init(name):
    return f"{name.replace('.', '/')}/__init__.py"


def _text(path):
    return path.read_text(encoding="utf-8")
