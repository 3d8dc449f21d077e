"""Writes the tables of docs/algorithms.md from the registry of algorithms and the rows of recipes.

`python -m docs.build_algorithms` writes; a test fails if the page is not up to date.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from inspect import Parameter

from docs.build_games import DOCS, replace_part
from ragen_starpo.algorithms.algorithm import Algorithm
from ragen_starpo.algorithms.registry import ESTIMATORS, FILTERS, LOSSES, Registry
from ragen_starpo.recipes.files import sweeps
from ragen_starpo.recipes.sections import AdvantageSettings, FilterSettings, LossSettings

PAGE = DOCS / "algorithms.md"
_TABLES: dict[str, tuple[Registry, type]] = {
    "estimators": (ESTIMATORS, AdvantageSettings),
    "losses": (LOSSES, LossSettings),
    "filters": (FILTERS, FilterSettings),
}


def build_page() -> str:
    """Return the text of the page with its tables replaced."""
    text = PAGE.read_text(encoding="utf-8")
    contents = {name: list(_rows(*table)) for name, table in _TABLES.items()}
    contents["presets"] = [
        f"| `{name}` | {' '.join(f'`{change}`' for change in changes)} |"
        for name, changes in sweeps()["preset"]["rows"].items()
    ]
    for name, rows in contents.items():
        head = "| name | formula | settings | arXiv | verl |\n| --- | --- | --- | --- | --- |\n"
        if name == "presets":
            head = "| name | settings |\n| --- | --- |\n"
        table = head + "\n".join(rows) + "\n"
        text = replace_part(text, f"<!-- algorithms: {name} -->\n", "<!-- end -->", table)
    return text


def _rows(registry: Registry, table: type) -> Iterator[str]:
    """Yield a line for each algorithm of this package."""
    shared = {field.name for field in fields(table)}
    for name in registry.names():
        found = registry.find(name)
        if not found.function.__module__.startswith("ragen_starpo."):
            continue
        paper = f"[{found.paper}](https://arxiv.org/abs/{found.paper})" if found.paper else ""
        verl = f"`{found.verl}`" if found.verl else ""
        settings = ", ".join(_settings(found, shared))
        yield f"| `{name}` | {found.formula} | {settings} | {paper} | {verl} |"


def _settings(found: Algorithm, shared: Collection[str]) -> Iterator[str]:
    """Yield the settings of the table that a function takes, then its own with their defaults."""
    yield from (f"`{name}`" for name in found.parameters if name in shared)
    for name, one in found.find_own_settings(shared).items():
        default = "" if one.default is Parameter.empty else f" = {_toml(one.default)}"
        yield f"`settings.{name}{default}`"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
