"""The lexicon: the meanings of words and phrases, and the frames that they stand in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from ragen_envs.games.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Form,
    Guess,
    Has,
    IsKind,
    IsNoun,
    Knows,
    Narrowed,
    Not,
)
from ragen_envs.games.twenty_questions.knowledge.schema import Concept, Knowledge
from ragen_envs.games.twenty_questions.understanding.inflect import (
    gerund,
    participle,
    plural,
    singulars,
    third_person,
)
from ragen_envs.games.twenty_questions.understanding.measures import bounds
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Frames,
    Tokens,
    data_file,
    phrase,
    word_set,
)

Table: TypeAlias = dict[str, dict[str, list[str]]]

_DETERMINERS = word_set(
    "a an the my your our their its his her some any these those "
    "1's one's someone's somebody's everyone's anybody's"
)
_A = word_set("a an")
_PERSONS = word_set("you me us someone somebody anyone everyone humans")
_QUANTIFIERS = word_set(
    "most many every each all several certain various lots of multiple numerous particular "
    "specific given"
)
_MEASURES = word_set("very extremely really so super truly incredibly too pretty rather highly")
_PREPOSITIONS = word_set("in on with into from inside")
_NEUTRAL = word_set(
    "prominent external distinctive visible real proper actual noticeable internal own clear "
    "distinct obvious noticeable special specialised specialized"
)
_COLOURS = frozenset(
    Has(f"is_{colour}")
    for colour in word_set("red orange yellow green blue purple pink brown black white grey")
)
_LEVEL = re.compile(r"(size|weight) (<|>) (\d+)")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The meanings of phrases for a knowledge.

    Attributes:
        slots: Form of each phrase, by slot of frames.toml.
        kinds: Form of nouns that are not concepts.
        concepts: Name of each concept by its names, including plural ones.
        narrower: Names that mean only a subkind of the concept.
        references: Reference or level of a noun, by scale.
        bounds: Upper bounds of a scale's levels but the last.
        thirds: Base forms of verbs in the third person ("lays eggs": "lay eggs").
        vocabulary: Words of the slots and the kinds, without names of concepts.
        names: Words of the concepts' names, and other nouns.
    """

    slots: Mapping[str, Mapping[str, Form]]
    kinds: Mapping[str, Form]
    concepts: Mapping[str, str]
    narrower: frozenset[str]
    references: Mapping[str, Mapping[str, str]]
    bounds: Mapping[str, tuple[float, ...]]
    thirds: Mapping[str, str]
    vocabulary: frozenset[str]
    names: frozenset[str]

    def guess(self, words: Tokens) -> Guess | None:
        """Return the guess of a name, None if it does not name a concept."""
        spoken = key(words)
        name = self.concepts.get(spoken)
        return None if name is None else Guess(name, narrower=spoken in self.narrower)

    def meaning(self, slot: str, words: Tokens) -> Form | None:
        """Return the form of a phrase in a slot, None if the tables do not have it.

        Articles and a leading "very" or "most" do not matter.
        """
        if slot == "verbing" and words[:1] and words[0] in _A:
            return None  # "a feeling" is a noun
        meanings = self.slots[slot]
        if form := meanings.get(key(words)):
            return form
        left = [word for word in words if word not in _DETERMINERS]
        passed = _MEASURES | _QUANTIFIERS | (_NEUTRAL if slot == "have" else frozenset())
        while form is None and left and left[0] in passed:
            left = left[1:]
            form = meanings.get(key(left))
        return form


def key(words: Iterable[str]) -> str:
    """Return a phrase as the tables have it: without articles, and "people" for "you" and "me"."""
    kept = (word for word in words if word not in _DETERMINERS)
    return " ".join("people" if word in _PERSONS else word for word in kept)


@cache
def table() -> Table:
    """Return the synonym table, as synonyms.toml has it."""
    return data_file("synonyms.toml")


def read_phrases(knowledge: Knowledge) -> Table:
    """Return the synonym table with the phrases of a knowledge's facts."""
    said: Table = {slot: dict(meanings) for slot, meanings in table().items()}
    for key_of_fact, fact in knowledge.facts.items():
        for slot, phrases in fact.said.items():
            if slot not in said:
                raise ValueError(f"{key_of_fact}: there is no slot {slot!r}")
            said[slot][key_of_fact] = [*said[slot].get(key_of_fact, ()), *phrases]
    return said


def lexicon(knowledge: Knowledge) -> Lexicon:
    """Return the meanings of phrases for a knowledge."""
    meant, said = Meanings(knowledge).of, read_phrases(knowledge)
    inflected = {
        "have": [_same, plural],
        "made_of": [_same, plural],
        "place": [_same, plural],
        "verb": [_same, third_person],
    }
    slots = {slot: _slot(said[slot], inflected.get(slot, [_same]), meant) for slot in _SLOTS}
    slots["verbing"] = _slot(said["verb"], [gerund], meant)
    slots["purposing"] = {
        **_slot(said["for"], [_same], meant),
        **_slot(said["purpose"], [gerund], meant),
    }
    slots["passive"] = _slot(said["people"], [_passive], meant)
    slots["fronted"] = _front_objects(said["people"], meant)
    slots["colour"] = _colours(slots["is"])
    slots["gap"] = _slot(said["people"], [_without_it], meant)
    kinds, concepts = _kinds(knowledge, said["kind"], meant), _concepts(knowledge)
    slots["noun"] = {**kinds, **slots["is"]}
    vocabulary = _words(kinds, *slots.values())
    slots["family"] = {
        spoken: _family(knowledge.concepts[name])
        for spoken, name in concepts.items()
        if "animal" in knowledge.concepts[name].memberships
    }
    return Lexicon(
        slots=slots,
        kinds=kinds,
        concepts=concepts,
        narrower=_narrower(knowledge, concepts),
        references=_references(knowledge),
        bounds={name: bounds(name, scale) for name, scale in knowledge.scales.items()},
        thirds={
            key(phrase(third_person(each)).split()): each
            for phrases in said["verb"].values()
            for each in map(phrase, phrases)
        },
        vocabulary=vocabulary,
        names=_words(concepts) | frozenset(_nouns(knowledge)),
    )


def _family(concept: Concept) -> Form:
    """Return the form of "of the crow family": a crow, or unknown for others of its kind."""
    return Either((IsNoun(concept.name), Narrowed(IsKind(concept.kinds[0]))))


def _words(*tables: Mapping[str, object]) -> frozenset[str]:
    return frozenset(word for each in tables for words in each for word in words.split())


_SLOTS = (
    *("is", "have", "made_of", "place", "where", "purpose", "verb", "people", "power"),
    "product",
)


class Meanings:
    """Reads the keys of the synonym table."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Store the knowledge, which has the kinds and features."""
        self._knowledge = knowledge
        self._composed: dict[str, Any] = dict(table()["meanings"])

    def of(self, written: str) -> Form:
        """Return the form of a key.

        Raises:
            ValueError: The knowledge has nothing of this name.
        """
        for sign, make in (("|", Either), ("&", And)):
            if sign in written:
                return make(tuple(self.of(part.strip()) for part in written.split(sign)))
        if written.startswith("!"):
            return Not(self.of(written.removeprefix("!")))
        if written in self._composed:
            return self.of(self._composed[written])
        if written in self._knowledge.kinds:
            return IsKind(written)
        if written in self._knowledge.features:
            return Has(written)
        if written in self._knowledge.facts:
            return Knows(written)
        level = _LEVEL.fullmatch(written)
        if not level:
            raise ValueError(f"synonyms.toml: {written!r} is not a kind, feature or fact")
        return Compare(level[1], "more" if level[2] == ">" else "less", int(level[3]))


def _slot(
    said: Mapping[str, list[str]], forms: list[Callable[[str], str]], meant: Callable[[str], Form]
) -> dict[str, Form]:
    return {
        key(inflect(each).split()): meant(meaning)
        for inflect in reversed(forms)
        for meaning, phrases in said.items()
        for each in map(phrase, phrases)
    }


def _front_objects(said: Mapping[str, list[str]], meant: Callable[[str], Form]) -> dict[str, Form]:
    """Return actions in or with it, with the object first ("things stored in it")."""
    fronted: dict[str, Form] = {}
    for meaning, phrases in said.items():
        for verb, *rest in (phrase(each).split() for each in phrases):
            once = rest[-1:] == ["it"] and rest.count("it") == 1
            if once and len(rest) > 2 and rest[-2] in _PREPOSITIONS:
                words = (*rest[:-2], participle(verb), *rest[-2:])
                fronted.setdefault(key(words), meant(meaning))
    return fronted


def _colours(properties: Mapping[str, Form]) -> dict[str, Form]:
    """Return the properties that are colours."""
    return {words: form for words, form in properties.items() if form in _COLOURS}


def _same(words: str) -> str:
    return words


def _passive(words: str) -> str:
    return participle(_without_it(words))


def _without_it(words: str) -> str:
    return " ".join(word for word in words.split() if word != "it")


def _kinds(
    knowledge: Knowledge, said: Mapping[str, list[str]], meant: Callable[[str], Form]
) -> dict[str, Form]:
    known = [(k, word) for k in knowledge.facts for word in said.get(k, ())]
    named = [(k, word) for k, kind in knowledge.kinds.items() for word in kind.words]
    added = [(meaning, word) for meaning, words in said.items() for word in words]
    words: dict[str, Form] = {}
    for inflect in (_same, plural):
        for meaning, word in (*known, *named, *added):
            words.setdefault(key(phrase(inflect(word)).split()), meant(meaning))
    return words


def _concepts(knowledge: Knowledge) -> dict[str, str]:
    named = [(name, name) for name in knowledge.concepts]
    aliases = [(name, a) for name, concept in knowledge.concepts.items() for a in concept.aliases]
    words: dict[str, str] = {}
    for inflect in (_same, plural):
        for name, word in (*named, *aliases):
            words.setdefault(key(phrase(inflect(word)).split()), name)
    return words


def _narrower(knowledge: Knowledge, concepts: Mapping[str, str]) -> frozenset[str]:
    """Return the names of subkinds of a concept ("grizzly", "birthday cake")."""
    return frozenset(
        spoken
        for spoken, name in concepts.items()
        if name in knowledge.nouns.below.get(singulars(spoken)[-1], ())
        or name in knowledge.nouns.below.get(spoken, ())
        or (spoken.endswith(f" {name}") and spoken != name)
    )


def _nouns(knowledge: Knowledge) -> Iterator[str]:
    nouns = knowledge.nouns
    return (noun for side in (nouns.classes, nouns.above, nouns.below) for noun in side)


def _references(knowledge: Knowledge) -> dict[str, dict[str, str]]:
    added = table()["references"]
    return {scale: dict(_objects(scale, knowledge, added)) for scale in knowledge.scales}


def _objects(
    scale: str, knowledge: Knowledge, added: Mapping[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """Yield objects of comparison and their names; those of scales.toml come last and prevail."""
    own = knowledge.scales[scale].references
    for reference, synonyms in added.items():
        if reference in own or reference in knowledge.concepts:
            for synonym in synonyms:
                if synonym not in knowledge.concepts:
                    yield key(phrase(synonym).split()), reference
    for reference in own:
        yield key(phrase(reference).split()), reference


DENIES = "!"
"""Prefix of a slot or a relation that negates it ("Does it lack wings?")."""


@cache
def patterns() -> dict[str, tuple[str, ...]]:
    """Return the frames of each slot, as frames.toml has them."""
    return {slot: tuple(frames) for slot, frames in data_file("frames.toml").items()}


@cache
def frames() -> Frames[tuple[str, bool]]:
    """Return the frames of each slot of the synonym table, and of its negation."""
    written: dict[tuple[str, bool], list[str]] = {}
    for slot, each in patterns().items():
        for frame in each:
            denied = frame.startswith(DENIES)
            written.setdefault((slot, denied), []).append(frame.removeprefix(DENIES))
    return Frames(written)
