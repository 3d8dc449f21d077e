"""Texts of others in Markdown show what they are, and make nothing else."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.markdown import bold, code, escape_markdown, link, make_table

markdown = pytest.importorskip("markdown")
HOSTILE = [
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "*bold* __strong__ ~~gone~~ `code`",
    "a | b || c",
    "a\\| b",
    "text\n\n# heading\n- list",
    "text {: onclick=alert(1) }",
    "{{ config }} {% raw %}",
    "https://evil.example www.evil.example",
    "&lt;b&gt; &#60;",
    "\x1b[2J\u202e\x9b",
    "1. list", "- list", "# head", "+ list", "> quote", "$x$ a_b_c _d_",
]  # fmt: skip


def rendered(text):
    return markdown.markdown(text, extensions=["tables", "attr_list", "fenced_code"])


def shown(page):
    return html.unescape(re.sub("<[^>]*>", "", page))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("write", [escape_markdown, bold, code])
def test_a_text_is_shown_as_it_is(text, write):
    page = rendered(f"Words {write(text)} words")
    allowed = {"p", "/p", "strong", "/strong", "code", "/code"}
    assert set(re.findall(r"<(/?\w+)", page)) <= allowed
    assert "onclick" not in "".join(re.findall("<[^>]*>", page))
    assert not set("\x1b\u202e\x9b") & set(page)
    if write is not code and text.isprintable():
        assert shown(page).split() == ["Words", *text.split(), "words"]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_cell_stays_a_cell(text):
    table = make_table(["a", text], [[text, bold(text)], [code(text), link(text, "own.svg")]])
    assert table.count("\n") == 3
    page = rendered(table)
    assert (page.count("<th"), page.count("<td"), page.count("<a ")) == (2 + 1, 4, 1)
    assert 'href="own.svg"' in page
    assert "<script" not in page
    assert "<img" not in page


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("*_`[]()<>|\\{}#~\n")))
def test_no_text_makes_an_element(text):
    page = rendered(f"Words {escape_markdown(text)} words")
    assert set(re.findall(r"<(/?\w+)", page)) <= {"p", "/p"}


@pytest.mark.parametrize("text", ["ragen/FrozenLake-v0", "a_b_c", "+5.0 points, δ 3 (mean) %"])
def test_plain_names_stay_readable(text):
    assert escape_markdown(text) == text
