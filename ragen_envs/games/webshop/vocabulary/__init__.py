"""The words of the procedural catalogue and its requests, read from plain files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """Kinds of products that stand side by side in a shop.

    Attributes:
        crumbs: the categories that they share, from the widest.
        kinds: what is sold, such as "ankle boots".
        audience: whom a title may name.
        axes: the axes that attributes are drawn from, at most one attribute of each.
        options: the names of the choices that a product may offer.
        price: the lowest and the highest price in whole dollars.
    """

    crumbs: tuple[str, ...]
    kinds: tuple[str, ...]
    audience: tuple[str, ...]
    axes: tuple[str, ...]
    options: tuple[str, ...]
    price: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OptionValues:
    """The values of an option, in the order in which a product lists them.

    Attributes:
        values: all there are.
        run: whether a product offers neighbours only, as sizes are.
    """

    values: tuple[str, ...]
    run: bool = False


@dataclass(frozen=True, slots=True)
class Phrasings:
    """How requests of a split are worded; see phrasings.toml."""

    frames: tuple[str, ...]
    joins: tuple[str, ...]
    options: tuple[str, ...]
    prices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Invented names and fillers; see names.toml."""

    brands: tuple[str, ...]
    lines: tuple[str, ...]
    styles: tuple[str, ...]
    praise: tuple[str, ...]
    about: tuple[str, ...]
    company: tuple[str, ...]
    closing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All of it.

    Attributes:
        families: the families of products.
        attributes: the attributes by axis.
        options: the values by option.
        names: names and fillers.
        phrasings: those of "train" and those of "held_out".
    """

    families: tuple[Family, ...]
    attributes: dict[str, tuple[str, ...]]
    options: dict[str, OptionValues]
    names: Names
    phrasings: dict[str, Phrasings]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, read once a process."""
    return Vocabulary(
        families=tuple(Family(**family) for family in _read("families")["family"]),
        attributes=_read("attributes"),
        options={name: OptionValues(**option) for name, option in _read("options").items()},
        names=Names(**_read("names")),
        phrasings={part: Phrasings(**rows) for part, rows in _read("phrasings").items()},
    )


def _read(name: str) -> dict[str, Any]:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = _frozen(tomllib.loads(text))
    return table


def _frozen(value: Any) -> Any:
    """Return the value with tuples in the place of lists."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return value
