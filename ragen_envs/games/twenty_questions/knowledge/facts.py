"""Facts: properties besides the features, each Yes, No, Sometimes or unknown for a word."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any, TypeAlias

from ragen_envs.games.twenty_questions.knowledge.schema import Concept, Fact, Grade

UNKNOWN = "unknown"
Groups: TypeAlias = Mapping[str, frozenset[str]]
"""Names of the words that a word, a kind, a feature or "*" of an entry stands for."""
_OF_GRADE: dict[str, Grade] = {"yes": "yes", "sometimes": "sometimes", "no": "no"}
_ORDER = ("yes", "sometimes", UNKNOWN, "no")
"""Precedence of the grades that a word has by its kinds or features; "*" comes last."""
_ALL = "*"


def groups_of(concepts: Mapping[str, Concept], known: Iterable[str]) -> Groups:
    """Return the words that each word, kind and feature stands for; only those with grade "yes".

    Args:
        concepts: All concepts by name.
        known: Keys of kinds and features.
    """
    groups: dict[str, set[str]] = {key: set() for key in known}
    for name, concept in concepts.items():
        groups[name.replace(" ", "_")] = {name}
        for grades in (concept.memberships, concept.grades):
            for key, grade in grades.items():
                if grade == "yes":
                    groups[key].add(name)
    return {_ALL: frozenset(concepts), **{key: frozenset(each) for key, each in groups.items()}}


def resolve_parts(key: str, parts: Iterable[str], groups: Groups) -> frozenset[str]:
    """Return the words that the parts stand for, without those of parts that begin with "-".

    A part that names the word itself takes precedence over an exclusion by kind or feature.

    Args:
        key: Key of the entry, for messages.
        parts: Parts as written, such as "bird&can_fly" and "-owl".
        groups: Result of `groups_of`.

    Raises:
        ValueError: A part names an unknown word, kind or feature.
    """
    named: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    for part in parts:
        found = groups[_ALL]
        for each in part.removeprefix("-").split("&"):
            if each not in groups:
                raise ValueError(f"{key}: there is no word, kind or feature {each!r}")
            found &= groups[each]
        if part.startswith("-"):
            without |= found
        elif found == {part.replace("_", " ")}:
            named |= found
        else:
            within |= found
    return named | (within - without)


def read_facts(folder: Traversable, groups: Groups, known: frozenset[str]) -> dict[str, Fact]:
    """Return the facts of a folder's TOML files by their keys.

    Raises:
        ValueError: An entry names something unknown, or gives a word two grades.
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
            facts[key] = _fact(key, entry, groups)
    return facts


def _fact(key: str, entry: dict[str, Any], groups: Groups) -> Fact:
    if "ask" not in entry:
        raise ValueError(f"{key}: ask is missing")
    written = {grade: entry.get(grade, "").split() for grade in _ORDER}
    names = {name.replace(" ", "_"): name for name in groups[_ALL]}
    own: dict[str, str] = {}
    for grade, parts in written.items():
        for part in parts:
            if part in names and own.setdefault(names[part], grade) != grade:
                raise ValueError(f"{key}: {part} is both {own[names[part]]} and {grade}")
    found: dict[str, str] = {}
    for all_words in (True, False):
        for grade in reversed(_ORDER):
            parts = [p for p in written[grade] if p[0] == "-" or (p == _ALL) == all_words]
            found |= dict.fromkeys(resolve_parts(key, parts, groups), grade)
    found |= own
    grades = {name: _OF_GRADE[grade] for name, grade in found.items() if grade != UNKNOWN}
    said = {slot: tuple(each) for slot, each in entry.items() if slot not in {"ask", *_ORDER}}
    return Fact(entry["ask"], grades, said)
