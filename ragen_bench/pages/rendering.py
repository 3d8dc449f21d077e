"""Rendering: the Jinja environment that the report, the site and the training report share."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragen_bench.pages import formats
from ragen_bench.pages.escaping import shown_lines


def page_environment(package: str, *filters: Callable[..., Any]) -> Environment:
    """Return the environment of a package's pages, which extend `frame.html`.

    A text that it puts into a page is escaped, and has visible characters only, see `shown_lines`.

    It finds the templates of the package and those that all pages share. The package's `style.css`
    and `script.js` are rendered at once, as each page's head names their hashes.

    Args:
        package: what has the templates, in its folder `templates`.
        filters: functions for the templates, beside those of `formats`.
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


def _visible(value: Any) -> Any:
    """Return what a page gets for a value: strangers' texts could turn around what is near them."""
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return shown_lines(value) if plain else value


def csp_hash(text: str) -> str:
    """Return the name by which a content security policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
