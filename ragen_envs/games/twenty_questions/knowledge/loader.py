"""Loader of the knowledge from its TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ragen_envs.games.twenty_questions.knowledge.facts import (
    Groups,
    groups_of,
    read_facts,
    resolve_parts,
)
from ragen_envs.games.twenty_questions.knowledge.inheritance import imply, inherit, memberships
from ragen_envs.games.twenty_questions.knowledge.schema import (
    GRADES,
    Concept,
    Feature,
    Grade,
    Kind,
    Knowledge,
    Levels,
    Nouns,
    Rules,
    Scale,
    indefinite_article,
)

_THIRD = 1 / 3


@cache
def load() -> Knowledge:
    """Return the knowledge that ships with the game, read once per process."""
    return read(files("ragen_envs.games.twenty_questions.knowledge"))


def read(folder: Traversable) -> Knowledge:
    """Return the knowledge in a folder.

    Args:
        folder: Folder with features.toml, open.toml, rules.toml, kinds.toml, scales.toml,
            concepts/*.toml, facts/*.toml and wordnet/.

    Raises:
        ValueError: An entry has an unknown field, lacks one, or names an unknown kind or
            feature, or if a kind is listed before one of its parents.
    """
    rules = _toml(folder / "rules.toml")
    features = _features(_toml(folder / "features.toml"), rules["implies"])
    kinds = _kinds(_toml(folder / "kinds.toml"), features)
    scales = {k: _scale(k, e) for k, e in _toml(folder / "scales.toml").items()}
    concepts: dict[str, Concept] = {}
    for path in sorted((folder / "concepts").iterdir(), key=lambda path: path.name):
        category = path.name.removesuffix(".toml")
        for name, entry in _toml(path).items():
            if name in concepts:
                raise ValueError(f"{name}: a concept of {concepts[name].category} and {category}")
            concepts[name] = _concept(name, category, entry, kinds, features, scales)
    known = frozenset({*kinds, *features})
    groups = groups_of(concepts, known)
    concepts = _with_unknown(concepts, _toml(folder / "open.toml"), groups, features)
    facts = read_facts(folder / "facts", groups, known)
    nouns = _read_nouns(folder / "wordnet")
    return Knowledge(
        kinds, features, scales, concepts, _rules(rules, kinds, features), facts, nouns
    )


def _with_unknown(
    concepts: Mapping[str, Concept],
    written: dict[str, str],
    groups: Groups,
    features: Mapping[str, Feature],
) -> dict[str, Concept]:
    """Return the concepts with their unknown features."""
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


def _toml(path: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error


def _features(groups: dict[str, Any], implies: dict[str, str]) -> dict[str, Feature]:
    features = {
        key: Feature(group, ask, tuple(implies.get(key, "").split()))
        for group, asks in groups.items()
        for key, ask in asks.items()
    }
    _check_known("rules.toml", implies, features, "feature")
    for key, feature in features.items():
        _check_known(key, feature.implies, features, "feature")
    return features


def _rules(
    rules: dict[str, dict[str, str]], kinds: Mapping[str, Kind], features: Mapping[str, Feature]
) -> Rules:
    excludes = {key: tuple(others.split()) for key, others in rules["excludes"].items()}
    only = {key: tuple(others.split()) for key, others in rules["only"].items()}
    for key, others in excludes.items():
        _check_known("rules.toml", (key, *others), {*kinds, *features}, "kind or feature")
    _check_known("rules.toml", only, features, "feature")
    for key, others in only.items():
        _check_known(key, others, kinds, "kind")
    facts = {key: tuple(others.split()) for key, others in rules["facts"].items()}
    apart = {key: tuple(others.split()) for key, others in rules["apart"].items()}
    return Rules(excludes, only, facts, apart)


def _kinds(entries: dict[str, Any], features: Mapping[str, Feature]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for key, entry in entries.items():
        kind = _kind(key, entry, features)
        # A parent precedes its children, so no kind is its own ancestor.
        _check_known(key, kind.parents, kinds, "kind above it called")
        _check_known(key, kind.partly, entries, "kind")
        kinds[key] = kind
    return kinds


def _kind(key: str, entry: dict[str, Any], features: Mapping[str, Feature]) -> Kind:
    fields = {"ask", "words", "parents", "partly", "size", "weight", *GRADES}
    _check_known(key, entry, fields, "field")
    return Kind(
        ask=entry["ask"],
        words=tuple(entry["words"]),
        parents=tuple(entry.get("parents", "").split()),
        partly=tuple(entry.get("partly", "").split()),
        grades=_own(key, entry, features),
        bounds={scale: tuple(entry[scale]) for scale in ("size", "weight") if scale in entry},
    )


def _scale(key: str, entry: dict[str, Any]) -> Scale:
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
    entry: dict[str, Any],
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
        levels={scale: _levels(entry[scale]) for scale in scales},
        memberships=memberships(direct, partly, kinds),
        grades=imply({**inherit(direct, kinds), **own}, features),
    )


def _own(name: str, entry: dict[str, Any], features: Mapping[str, Feature]) -> dict[str, Grade]:
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


def _levels(entry: int | list[int]) -> Levels:
    low, high = (entry, entry) if isinstance(entry, int) else entry
    return low, high


def _read_nouns(folder: Traversable) -> Nouns:
    """Return the nouns of a folder with nouns.txt and related.toml."""
    related = tomllib.loads((folder / "related.toml").read_text("utf-8"))
    sides = {
        side: {noun: frozenset(words.split(", ")) for noun, words in nouns.items()}
        for side, nouns in related.items()
    }
    classes: dict[str, tuple[str, ...]] = {}
    for line in (folder / "nouns.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kinds, _, nouns = line.partition(": ")
            classes.update(dict.fromkeys(nouns.split(", "), tuple(kinds.split())))
    return Nouns(sides["above"], sides["below"], classes)
