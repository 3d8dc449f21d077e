"""The knowledge as frozen dataclasses, read from the files in knowledge/."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeAlias

from ragen_envs.twenty_questions.article import article

Grade: TypeAlias = Literal["yes", "sometimes", "no"]
Levels: TypeAlias = tuple[int, int]
GRADES: tuple[Grade, ...] = ("no", "sometimes", "yes")
"""From the weakest."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a concept may have.

    Attributes:
        group: such as "ability" or "material".
        ask: the canonical question.
        implies: features that go with it, at least as much.
    """

    group: str
    ask: str
    implies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things.

    Attributes:
        ask: the canonical question.
        words: how people name it, singular and plural.
        parents: the kinds that its members are of too.
        partly: the kinds that its members are sometimes of.
        grades: what members have, unless they say otherwise.
        bounds: by scale, the levels that members may have.
    """

    ask: str
    words: tuple[str, ...]
    parents: tuple[str, ...]
    partly: tuple[str, ...]
    grades: Mapping[str, Grade]
    bounds: Mapping[str, Levels]


@dataclass(frozen=True, slots=True)
class Scale:
    """An ordinal scale.

    Attributes:
        asks: the canonical question of each relation, with braces for what is compared with.
        levels: what each level means, from level 1.
        references: the levels of what people compare with.
        asked: the references of the standard questions.
    """

    asks: Mapping[str, str]
    levels: tuple[str, ...]
    references: Mapping[str, int]
    asked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the game and what is known of it.

    Attributes:
        name: the word, without an article.
        article: "a", "an", "the", or nothing, as for "milk" and "scissors".
        aliases: other names that win the game.
        category: the file it stands in.
        kinds: what it says it is.
        partly: what it says it sometimes is.
        own: what it says of features, before anything is inherited.
        levels: by scale, the lowest and the highest level.
        memberships: all kinds that it is of or partly of.
        grades: all features that it has or sometimes has.
    """

    name: str
    article: str
    aliases: tuple[str, ...]
    category: str
    kinds: tuple[str, ...]
    partly: tuple[str, ...]
    own: Mapping[str, Grade]
    levels: Mapping[str, Levels]
    memberships: Mapping[str, Grade]
    grades: Mapping[str, Grade]


@dataclass(frozen=True, slots=True)
class Rules:
    """What the entries have to agree with.

    Attributes:
        excludes: by feature or kind, the features and kinds that nothing has beside it.
        only: by feature, the kinds that alone may have it.
    """

    excludes: Mapping[str, tuple[str, ...]]
    only: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything that is known, in the order of the files.

    Attributes:
        kinds: by key.
        features: by key.
        scales: by key.
        concepts: by name.
        rules: what the entries have to agree with.
    """

    kinds: Mapping[str, Kind]
    features: Mapping[str, Feature]
    scales: Mapping[str, Scale]
    concepts: Mapping[str, Concept]
    rules: Rules

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of each category's concepts."""
        return {
            category: tuple(n for n, c in self.concepts.items() if c.category == category)
            for category in dict.fromkeys(c.category for c in self.concepts.values())
        }

    def without(self, concept: Concept, feature: str) -> Grade:
        """Return the grade of a concept's feature if its entry did not name it."""
        own = {key: grade for key, grade in concept.own.items() if key != feature}
        grades = _implied({**_inherited(concept.kinds, self.kinds), **own}, self.features)
        return grades.get(feature, "no")


@cache
def load() -> Knowledge:
    """Return the knowledge that ships with the game."""
    return read(files("ragen_envs.twenty_questions") / "knowledge")


def read(folder: Traversable) -> Knowledge:
    """Return the knowledge in a folder.

    Args:
        folder: with features.toml, rules.toml, kinds.toml, scales.toml and concepts/*.toml.

    Raises:
        ValueError: if an entry has a field that there is none of, lacks one, names an unknown
            kind or feature, or if a kind stands above one of its parents.
    """
    rules = _toml(folder / "rules.toml")
    features = _features(_toml(folder / "features.toml"), rules["implies"])
    kinds = _kinds(_toml(folder / "kinds.toml"), features)
    scales = {k: _scale(e) for k, e in _toml(folder / "scales.toml").items()}
    concepts: dict[str, Concept] = {}
    for path in sorted((folder / "concepts").iterdir(), key=lambda each: each.name):
        category = path.name.removesuffix(".toml")
        for name, entry in _toml(path).items():
            if name in concepts:
                raise ValueError(f"{name}: a concept of {concepts[name].category} and {category}")
            concepts[name] = _concept(name, category, entry, kinds, features, scales)
    return Knowledge(kinds, features, scales, concepts, _rules(rules, kinds, features))


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
    _known("rules.toml", implies, features, "feature")
    for key, feature in features.items():
        _known(key, feature.implies, features, "feature")
    return features


def _rules(
    rules: dict[str, dict[str, str]], kinds: Mapping[str, Kind], features: Mapping[str, Feature]
) -> Rules:
    excludes = {key: tuple(others.split()) for key, others in rules["excludes"].items()}
    only = {key: tuple(others.split()) for key, others in rules["only"].items()}
    for key, others in excludes.items():
        _known("rules.toml", (key, *others), {*kinds, *features}, "kind or feature")
    _known("rules.toml", only, features, "feature")
    for key, others in only.items():
        _known(key, others, kinds, "kind")
    return Rules(excludes, only)


def _kinds(entries: dict[str, Any], features: Mapping[str, Feature]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for key, entry in entries.items():
        kind = _kind(key, entry, features)
        # A parent stands above its children, so that no kind is its own ancestor.
        _known(key, kind.parents, kinds, "kind above it called")
        _known(key, kind.partly, entries, "kind")
        kinds[key] = kind
    return kinds


def _kind(key: str, entry: dict[str, Any], features: Mapping[str, Feature]) -> Kind:
    fields = {"ask", "words", "parents", "partly", "size", "weight", *GRADES}
    _known(key, entry, fields, "field")
    return Kind(
        ask=entry["ask"],
        words=tuple(entry["words"]),
        parents=tuple(entry.get("parents", "").split()),
        partly=tuple(entry.get("partly", "").split()),
        grades=_own(key, entry, features),
        bounds={scale: tuple(entry[scale]) for scale in ("size", "weight") if scale in entry},
    )


def _scale(entry: dict[str, Any]) -> Scale:
    return Scale(
        asks={relation: entry[relation] for relation in ("more", "less", "equal")},
        levels=tuple(entry["levels"]),
        references=dict(entry["references"]),
        asked=tuple(entry["asked"]),
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
    _known(name, entry, fields, "field")
    for field in ("kind", *scales):
        if field not in entry:
            raise ValueError(f"{name}: {field} is missing")
    direct, partly = tuple(entry["kind"].split()), tuple(entry.get("partly", "").split())
    _known(name, (*direct, *partly), kinds, "kind")
    own = _own(name, entry, features)
    return Concept(
        name=name,
        article=entry.get("article", article(name)),
        aliases=tuple(entry.get("aliases", ())),
        category=category,
        kinds=direct,
        partly=partly,
        own=own,
        levels={scale: _levels(entry[scale]) for scale in scales},
        memberships=_memberships(direct, partly, kinds),
        grades=_implied({**_inherited(direct, kinds), **own}, features),
    )


def _own(name: str, entry: dict[str, Any], features: Mapping[str, Feature]) -> dict[str, Grade]:
    """Return what an entry says; "@colour" stands for what it says not otherwise of that group."""
    own: dict[str, Grade] = {}
    rest: dict[str, Grade] = {}
    for grade in GRADES:
        words = entry.get(grade, "").split()
        keys = [word for word in words if not word.startswith("@")]
        _known(name, keys, features, "feature")
        for key in keys:
            if key in own:
                raise ValueError(f"{name}: {key} is named twice")
            own[key] = grade
        for group in (word[1:] for word in words if word.startswith("@")):
            _known(name, [group], {each.group for each in features.values()}, "group")
            rest |= {key: grade for key, each in features.items() if each.group == group}
    return {**rest, **own}


def _known(name: str, keys: Iterable[str], known: Iterable[str], what: str) -> None:
    for key in keys:
        if key not in known:
            raise ValueError(f"{name}: there is no {what} {key!r}")


def _levels(entry: int | list[int]) -> Levels:
    low, high = (entry, entry) if isinstance(entry, int) else entry
    return low, high


def _memberships(
    direct: tuple[str, ...], partly: tuple[str, ...], kinds: Mapping[str, Kind]
) -> dict[str, Grade]:
    full = _closure(direct, kinds)
    halves = (*partly, *(half for kind in full for half in kinds[kind].partly))
    half = _closure(halves, kinds)
    return {**dict.fromkeys(half, "sometimes"), **dict.fromkeys(full, "yes")}


def _closure(keys: Iterable[str], kinds: Mapping[str, Kind]) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = None
            waiting.extend(kinds[key].parents)
    return list(found)


def _inherited(keys: tuple[str, ...], kinds: Mapping[str, Kind]) -> dict[str, Grade]:
    """Return what kinds give: of two that differ the stronger, a kind before its parents."""
    merged: dict[str, Grade] = {}
    for key in keys:
        given = {**_inherited(kinds[key].parents, kinds), **kinds[key].grades}
        for feature, grade in given.items():
            merged[feature] = stronger(grade, merged.get(feature, "no"))
    return merged


def _implied(grades: dict[str, Grade], features: Mapping[str, Feature]) -> dict[str, Grade]:
    waiting = list(grades)
    while waiting:
        key = waiting.pop()
        for other in features[key].implies:
            raised = stronger(grades[key], grades.get(other, "no"))
            if raised != grades.get(other, "no"):
                grades[other] = raised
                waiting.append(other)
    return {key: grades[key] for key in features if grades.get(key, "no") != "no"}


def stronger(one: Grade, other: Grade) -> Grade:
    """Return the stronger of two grades."""
    return max(one, other, key=GRADES.index)
