"""Loader of the knowledge from its TOML files, and the inheritance of kinds and features."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TypeAlias

from ragen_envs.games.twenty_questions.knowledge.schema import (
    GRADES,
    Concept,
    Fact,
    Feature,
    Grade,
    Kind,
    Knowledge,
    Levels,
    Nouns,
    Scale,
    Toml,
    indefinite_article,
)

_THIRD = 1 / 3
_UNKNOWN = "unknown"
Groups: TypeAlias = Mapping[str, frozenset[str]]
"""Names of the words that a word, a kind, a feature or "*" of an entry stands for."""
_OF_GRADE: dict[str, Grade] = {"yes": "yes", "sometimes": "sometimes", "no": "no"}
_ORDER = ("yes", "sometimes", _UNKNOWN, "no")
"""Precedence of the grades that a word has by its kinds or features; "*" comes last."""
_ALL = "*"


@cache
def load() -> Knowledge:
    """Return the knowledge that ships with the game, read once per process."""
    return read(files("ragen_envs.games.twenty_questions.knowledge"))


def read(folder: Traversable) -> Knowledge:
    """Return the knowledge in a folder.

    It raises a ValueError if an entry has an unknown field, lacks one, or names an unknown kind or
    feature, or if a kind is listed before one of its parents.
    """
    implies = read_toml(folder / "rules.toml")["implies"]
    features = _features(read_toml(folder / "features.toml"), implies)
    kinds = _kinds(read_toml(folder / "kinds.toml"), features)
    scales = {k: _scale(k, e) for k, e in read_toml(folder / "scales.toml").items()}
    concepts: dict[str, Concept] = {}
    for path in sorted((folder / "concepts").iterdir(), key=lambda path: path.name):
        category = path.name.removesuffix(".toml")
        for name, entry in read_toml(path).items():
            if name in concepts:
                raise ValueError(f"{name}: a concept of {concepts[name].category} and {category}")
            concepts[name] = _concept(name, category, entry, kinds, features, scales)
    known = frozenset({*kinds, *features})
    groups = groups_of(concepts, known)
    concepts = _with_unknown(concepts, read_toml(folder / "open.toml"), groups, features)
    return Knowledge(
        kinds,
        features,
        scales,
        concepts,
        partial(read_facts, folder / "facts", groups, known),
        partial(_read_nouns, folder / "wordnet"),
    )


def _with_unknown(
    concepts: Mapping[str, Concept],
    written: dict[str, str],
    groups: Groups,
    features: Mapping[str, Feature],
) -> dict[str, Concept]:
    _check_known("open.toml", written, features, "feature")
    unknown: dict[str, set[str]] = {name: set() for name in concepts}
    for key, parts in written.items():
        for name in resolve_parts(key, parts.split(), groups):
            concept = concepts[name]
            if key not in concept.grades and concept.own.get(key) != "no":
                unknown[name].add(key)
    return {
        name: replace(concept, unknown=frozenset(unknown[name]))
        for name, concept in concepts.items()
    }


def read_toml(path: Traversable) -> Toml:
    """Return the contents of a TOML file; a malformed one is a ValueError that names it."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _features(groups: Toml, implies: dict[str, str]) -> dict[str, Feature]:
    features = {
        key: Feature(group, ask, tuple(implies.get(key, "").split()))
        for group, asks in groups.items()
        for key, ask in asks.items()
    }
    _check_known("rules.toml", implies, features, "feature")
    for key, feature in features.items():
        _check_known(key, feature.implies, features, "feature")
    return features


def _kinds(entries: Toml, features: Mapping[str, Feature]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    fields = {"ask", "words", "parents", "partly", "size", "weight", *GRADES}
    for key, entry in entries.items():
        _check_known(key, entry, fields, "field")
        kind = Kind(
            ask=entry["ask"],
            words=tuple(entry["words"]),
            parents=tuple(entry.get("parents", "").split()),
            partly=tuple(entry.get("partly", "").split()),
            grades=_own(key, entry, features),
            bounds={scale: tuple(entry[scale]) for scale in ("size", "weight") if scale in entry},
        )
        # A parent precedes its children, so no kind is its own ancestor.
        _check_known(key, kind.parents, kinds, "kind above it called")
        _check_known(key, kind.partly, entries, "kind")
        kinds[key] = kind
    return kinds


def _scale(key: str, entry: Toml) -> Scale:
    finer: dict[str, float] = {}
    for third, off in (("lower", -_THIRD), ("upper", _THIRD)):
        for name in entry.get("finer", {}).get(third, "").split():
            if finer.setdefault(name.replace("_", " "), off) != off:
                raise ValueError(f"{key}: {name} is in both thirds of its level")
    return Scale(
        asks={relation: entry[relation] for relation in ("more", "less", "equal")},
        levels=tuple(entry["levels"]),
        references=dict(entry["references"]),
        asked=tuple(entry["asked"]),
        finer=finer,
    )


def _concept(
    name: str,
    category: str,
    entry: Toml,
    kinds: Mapping[str, Kind],
    features: Mapping[str, Feature],
    scales: Mapping[str, Scale],
) -> Concept:
    fields = {"kind", "partly", "aliases", "article", *scales, *GRADES}
    _check_known(name, entry, fields, "field")
    for field in ("kind", *scales):
        if field not in entry:
            raise ValueError(f"{name}: {field} is missing")
    direct, partly = tuple(entry["kind"].split()), tuple(entry.get("partly", "").split())
    _check_known(name, (*direct, *partly), kinds, "kind")
    own = _own(name, entry, features)
    return Concept(
        name=name,
        article=entry.get("article", indefinite_article(name)),
        aliases=tuple(entry.get("aliases", ())),
        category=category,
        kinds=direct,
        partly=partly,
        own=own,
        levels={scale: _read_levels(entry[scale]) for scale in scales},
        memberships=memberships(direct, partly, kinds),
        grades=imply({**inherit(direct, kinds), **own}, features),
    )


def _own(name: str, entry: Toml, features: Mapping[str, Feature]) -> dict[str, Grade]:
    """Return the features of an entry; "@colour" gives all others of a group the same grade."""
    own: dict[str, Grade] = {}
    rest: dict[str, Grade] = {}
    for grade in GRADES:
        words = entry.get(grade, "").split()
        keys = [word for word in words if not word.startswith("@")]
        _check_known(name, keys, features, "feature")
        for key in keys:
            if key in own:
                raise ValueError(f"{name}: {key} is named twice")
            own[key] = grade
        for group in (word[1:] for word in words if word.startswith("@")):
            _check_known(name, [group], {each.group for each in features.values()}, "group")
            rest |= {key: grade for key, each in features.items() if each.group == group}
    return {**rest, **own}


def _check_known(name: str, keys: Iterable[str], known: Iterable[str], what: str) -> None:
    for key in keys:
        if key not in known:
            raise ValueError(f"{name}: there is no {what} {key!r}")


def _read_levels(entry: int | list[int]) -> Levels:
    low, high = (entry, entry) if isinstance(entry, int) else entry
    return low, high


def _read_nouns(folder: Traversable) -> Nouns:
    sides = {
        side: {noun: frozenset(words.split(", ")) for noun, words in nouns.items()}
        for side, nouns in read_toml(folder / "related.toml").items()
    }
    classes: dict[str, tuple[str, ...]] = {}
    for line in (folder / "nouns.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kinds, _, nouns = line.partition(": ")
            classes.update(dict.fromkeys(nouns.split(", "), tuple(kinds.split())))
    return Nouns(sides["above"], sides["below"], classes)


def groups_of(concepts: Mapping[str, Concept], known: Iterable[str]) -> Groups:
    """Return the words that each word, kind and feature stands for; only those with grade "yes"."""
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

    Parts are such as "bird&can_fly" and "-owl". One that names the word itself takes precedence
    over an exclusion by kind or feature.
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
    """Return the facts of a folder's TOML files by their keys."""
    facts: dict[str, Fact] = {}
    words = {name.replace(" ", "_"): name for name in groups[_ALL]}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        for key, entry in read_toml(path).items():
            if key in facts or key in known:
                raise ValueError(f"{key}: a fact of {path.name} and something else")
            facts[key] = _fact(key, entry, groups, words)
    return facts


def _fact(key: str, entry: Toml, groups: Groups, words: Mapping[str, str]) -> Fact:
    if "ask" not in entry:
        raise ValueError(f"{key}: ask is missing")
    written = {grade: entry.get(grade, "").split() for grade in _ORDER}
    own: dict[str, str] = {}
    for grade, parts in written.items():
        for part in parts:
            if part in words and own.setdefault(words[part], grade) != grade:
                raise ValueError(f"{key}: {part} is both {own[words[part]]} and {grade}")
    found: dict[str, str] = {}
    for all_words in (True, False):
        for grade in reversed(_ORDER):
            parts = [p for p in written[grade] if p[0] == "-" or (p == _ALL) == all_words]
            found |= dict.fromkeys(resolve_parts(key, parts, groups), grade)
    found |= own
    grades = {name: _OF_GRADE[grade] for name, grade in found.items() if grade != _UNKNOWN}
    said = {slot: tuple(each) for slot, each in entry.items() if slot not in {"ask", *_ORDER}}
    return Fact(entry["ask"], grades, said)


def memberships(
    direct: tuple[str, ...], partly: tuple[str, ...], kinds: Mapping[str, Kind]
) -> dict[str, Grade]:
    """Return all kinds of an entry: "yes" for full membership, "sometimes" for partial."""
    full = _closure(direct, kinds)
    halves = (*partly, *(half for kind in full for half in kinds[kind].partly))
    half = _closure(halves, kinds)
    return {**dict.fromkeys(half, "sometimes"), **dict.fromkeys(full, "yes")}


def _closure(keys: Iterable[str], kinds: Mapping[str, Kind]) -> list[str]:
    reached: dict[str, None] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached[key] = None
            waiting.extend(kinds[key].parents)
    return list(reached)


def inherit(keys: tuple[str, ...], kinds: Mapping[str, Kind]) -> dict[str, Grade]:
    """Return the features that kinds give: the strongest grade, a kind before its parents."""
    merged: dict[str, Grade] = {}
    for key in keys:
        grades = {**inherit(kinds[key].parents, kinds), **kinds[key].grades}
        for feature, grade in grades.items():
            merged[feature] = stronger(grade, merged.get(feature, "no"))
    return merged


def imply(grades: Mapping[str, Grade], features: Mapping[str, Feature]) -> dict[str, Grade]:
    """Return grades with implied ones, in the order of the features and without each "no"."""
    raised = dict(grades)
    waiting = list(raised)
    while waiting:
        key = waiting.pop()
        for other in features[key].implies:
            before = raised.get(other, "no")
            raised[other] = stronger(raised[key], before)
            if raised[other] != before:
                waiting.append(other)
    return {key: raised[key] for key in features if raised.get(key, "no") != "no"}


def stronger(first: Grade, second: Grade) -> Grade:
    """Return the stronger of two grades."""
    return max(first, second, key=GRADES.index)
