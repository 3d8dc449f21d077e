"""The environment of the pages: what it shares, and what it does not let pass."""

import base64
import hashlib

import pytest
from jinja2 import UndefinedError

from ragen_bench.pages.rendering import csp_hash, page_environment

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


def test_text_is_escaped_and_what_is_missing_is_an_error():
    environment = page_environment("ragen_bench.pages.report", repr)
    assert environment.from_string("{{ text|repr }}").render(text="<b>") == "&#39;&lt;b&gt;&#39;"
    with pytest.raises(UndefinedError):
        environment.from_string("{{ text }}").render()
