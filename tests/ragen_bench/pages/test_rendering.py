"""The environment of the pages: what it shares, and what it does not let pass."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from ragen_bench.escaping import escape_invisible, escape_invisible_lines
from ragen_bench.pages.rendering import csp_hash, page_environment
from tests.growth import LINEAR, growth

PACKAGES = ("ragen_bench.pages.report", "ragen_bench.pages.leaderboard", "ragen_starpo.report")


def test_a_hash_is_the_one_of_the_standard():
    digest = base64.b64encode(hashlib.sha256("ä\n".encode()).digest()).decode()
    assert csp_hash("ä\n") == f"sha256-{digest}"


@pytest.mark.parametrize("package", PACKAGES)
def test_pages_share_the_base_style_and_the_theme(package):
    environment = page_environment(package)
    base = environment.get_template("style/base.css").render()
    assert environment.globals["style"].startswith(base)
    assert "function handleTheme" in environment.globals["script"]
    assert "{%" not in base


ENVIRONMENT = page_environment("ragen_bench.pages.report")


@given(st.text(), st.sampled_from(["{{ text }}", "<p title='{{ text }}'>", "{{ text|upper }}"]))
def test_text_in_a_page_has_visible_characters_only(text, template):
    page = ENVIRONMENT.from_string(template).render(text=text)
    line = page.replace("\n", "").replace("\t", "")
    assert escape_invisible(line) == line
    assert escape_invisible_lines(escape_invisible_lines(text)) == escape_invisible_lines(text)


@pytest.mark.parametrize("piece", ["a", "\u202e", "\n", "\u202e\n"])
@pytest.mark.parametrize("shows", [escape_invisible, escape_invisible_lines])
def test_the_cost_of_showing_grows_with_the_text(piece, shows):
    assert growth(shows, lambda n: piece * n) < LINEAR


def test_text_is_escaped_and_what_is_missing_is_an_error():
    environment = page_environment("ragen_bench.pages.report", repr)
    assert environment.from_string("{{ text|repr }}").render(text="<b>") == "&#39;&lt;b&gt;&#39;"
    with pytest.raises(UndefinedError):
        environment.from_string("{{ text }}").render()
