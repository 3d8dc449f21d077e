"""The words of the procedural catalogue and its requests, read from plain files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """Kinds of products of one department, such as "ankle boots", and what they may have.

    Crumbs are shared categories, from the widest. A product has at most one attribute per axis. The
    price is the lowest and the highest in whole dollars.
    """

    crumbs: tuple[str, ...]
    kinds: tuple[str, ...]
    audience: tuple[str, ...]
    axes: tuple[str, ...]
    options: tuple[str, ...]
    price: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OptionValues:
    """The values of an option; with `run`, a product offers neighbours only, as for sizes."""

    values: tuple[str, ...]
    run: bool = False


@dataclass(frozen=True, slots=True)
class Phrasings:
    """Wordings of the requests of a split; see phrasings.toml."""

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
    """All words: attributes by axis, values by option, wordings by "train" and "held_out"."""

    families: tuple[Family, ...]
    attributes: dict[str, tuple[str, ...]]
    options: dict[str, OptionValues]
    names: Names
    phrasings: dict[str, Phrasings]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, read once per process."""
    return Vocabulary(
        families=tuple(Family(**family) for family in _read("families")["family"]),
        attributes=_read("attributes"),
        options={name: OptionValues(**option) for name, option in _read("options").items()},
        names=Names(**_read("names")),
        phrasings={part: Phrasings(**rows) for part, rows in _read("phrasings").items()},
    )


def _read(name: str) -> Any:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return _frozen(tomllib.loads(text))


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return value
