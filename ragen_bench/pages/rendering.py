"""The Jinja environment shared by all pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragen_bench.escaping import escape_invisible_lines
from ragen_bench.pages import formats


@cache  # compiling the templates takes longer than rendering a short report
def page_environment(package: str, *filters: Callable[..., object]) -> Environment:
    """Return the Jinja environment of a package's pages, which extend `frame.html`.

    Shared templates are found too. Texts are escaped, and their invisible characters replaced, see
    `escape_invisible_lines`. The package's `style.css` and `script.js` are rendered here, since
    each page states their hashes.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("ragen_bench.pages")]),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (*formats.FORMATS, csp_hash, *filters):
        environment.filters[function.__name__] = function
    for name, file in (("style", "style.css"), ("script", "script.js")):
        environment.globals[name] = Markup(environment.get_template(file).render())
    return environment


def _visible(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return escape_invisible_lines(value)
    return value


def csp_hash(text: str) -> str:
    """Return the hash with which a content security policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
