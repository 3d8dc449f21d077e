"""Rendering: the Jinja environment that the report, the site and the training report share."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragen_bench.pages import formats


def page_environment(package: str, *filters: Callable[..., Any]) -> Environment:
    """Return the environment of a package's pages, which extend `frame.html`.

    It finds the templates of the package and those that all pages share. The package's `style.css`
    and `script.js` are rendered at once, as each page's head names their hashes.

    Args:
        package: what has the templates, in its folder `templates`.
        filters: functions for the templates, beside those of `formats`.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("ragen_bench.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (*formats.FORMATS, csp_hash, *filters):
        environment.filters[function.__name__] = function
    for name, file in (("style", "style.css"), ("script", "script.js")):
        environment.globals[name] = Markup(environment.get_template(file).render())
    return environment


def csp_hash(text: str) -> str:
    """Return the name by which a content security policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
