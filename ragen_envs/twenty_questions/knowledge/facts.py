"""Facts: what is known of words beside their features, Yes, No, Sometimes, or not known."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any

from ragen_envs.twenty_questions.knowledge.schema import Concept, Fact, Grade

UNKNOWN = "unknown"
_OF_GRADE: dict[str, Grade] = {"yes": "yes", "sometimes": "sometimes", "no": "no"}
_ORDER = ("yes", "sometimes", UNKNOWN, "no")
"""Where several grades hold a word by its kinds or features, the first counts, and "*" last."""
_ALL = "*"


def read_facts(
    folder: Traversable, concepts: Mapping[str, Concept], known: frozenset[str]
) -> dict[str, Fact]:
    """Return the facts of a folder's TOML files by their keys.

    Args:
        folder: with a file a subject.
        concepts: the words that facts are about.
        known: the keys of kinds and features.

    Raises:
        ValueError: if an entry names what there is none of, or gives a word two grades.
    """
    facts: dict[str, Fact] = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        try:
            entries = tomllib.loads(path.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path.name}: {error}") from error
        for key, entry in entries.items():
            if key in facts or key in known:
                raise ValueError(f"{key}: a fact of {path.name} and something else")
            facts[key] = _fact(key, entry, concepts, known)
    return facts


def _fact(
    key: str, entry: dict[str, Any], concepts: Mapping[str, Concept], known: frozenset[str]
) -> Fact:
    if "ask" not in entry:
        raise ValueError(f"{key}: ask is missing")
    names = {name.replace(" ", "_"): name for name in concepts}
    written = {grade: entry.get(grade, "").split() for grade in _ORDER}
    own: dict[str, str] = {}
    for grade, parts in written.items():
        for part in parts:
            check(key, part, names, known)
            if part in names and own.setdefault(names[part], grade) != grade:
                raise ValueError(f"{key}: {part} is both {own[names[part]]} and {grade}")
    grades: dict[str, Grade] = {}
    for name, concept in concepts.items():
        held = own.get(name) or _first(written, concept)
        if held != UNKNOWN:
            grades[name] = _OF_GRADE[held]
    said = {slot: tuple(each) for slot, each in entry.items() if slot not in {"ask", *_ORDER}}
    return Fact(entry["ask"], grades, said)


def check(key: str, part: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError for a part that names no word, kind or feature.

    Args:
        key: of the entry, for the message.
        part: as written, such as "-bird&can_fly".
        names: of the words, with "_" for a blank.
        known: the keys of kinds and features.
    """
    for each in part.removeprefix("-").split("&"):
        if each not in known and each not in names and each != _ALL:
            raise ValueError(f"{key}: there is no word, kind or feature {each!r}")


def _first(written: Mapping[str, list[str]], concept: Concept) -> str:
    """Return the grade that holds a word by its kinds or features; "*" counts last."""
    for all_words in (False, True):
        for grade in _ORDER:
            parts = [
                part for part in written[grade] if part[0] == "-" or (part == _ALL) == all_words
            ]
            if holds(parts, concept):
                return grade
    return UNKNOWN


def holds(parts: list[str], concept: Concept) -> bool:
    """Return whether one of the parts holds a word, and none that begins with "-"."""
    if any(part[0] == "-" and _is(part[1:], concept) for part in parts):
        return False
    return any(part[0] != "-" and _is(part, concept) for part in parts)


def _is(part: str, concept: Concept) -> bool:
    """Return whether a word is of all the kinds and has all the features that "&" joins."""
    return all(
        each == _ALL
        or each == concept.name.replace(" ", "_")
        or concept.memberships.get(each) == "yes"
        or concept.grades.get(each) == "yes"
        for each in part.split("&")
    )
