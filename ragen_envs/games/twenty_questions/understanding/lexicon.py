"""The lexicon: the meanings of words and phrases, and their frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

from ragen_envs.games.twenty_questions import forms
from ragen_envs.games.twenty_questions.forms import Form
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge
from ragen_envs.games.twenty_questions.understanding import grammar
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Frames,
    Tokens,
    data_file,
    phrase,
    word_set,
)

Table: TypeAlias = dict[str, dict[str, list[str]]]
ReadMeaning: TypeAlias = Callable[[str], Form]
"""Function from a key of the synonym table to its form."""

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
    forms.Has(f"is_{colour}")
    for colour in word_set("red orange yellow green blue purple pink brown black white grey")
)
_LEVEL = re.compile(r"(size|weight) (<|>) (\d+)")
_SLOTS = (
    *("is", "have", "made_of", "place", "where", "purpose", "verb", "people", "power"),
    "product",
)
DENIES = "!"
"""Prefix of a slot or a relation that negates it ("Does it lack wings?")."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The meanings of phrases for a knowledge."""

    knowledge: Knowledge
    slots: Mapping[str, Mapping[str, Form]]  # form of each phrase, by slot of frames.toml
    kinds: Mapping[str, Form]  # nouns that are not concepts
    concepts: Mapping[str, str]  # by all their names, including plural ones
    narrower: frozenset[str]  # names that mean only a subkind of the concept
    references: Mapping[str, Mapping[str, str]]  # reference or level of a noun, by scale
    thirds: Mapping[str, str]  # base forms of verbs in the third person ("lays eggs": "lay eggs")
    vocabulary: frozenset[str]  # words of the slots and the kinds, without names of concepts
    names: frozenset[str]  # words of the concepts' names, and other nouns

    def guess(self, words: Tokens) -> forms.Guess | None:
        """Return the guess of a name, None if it does not name a concept."""
        spoken = key(words)
        name = self.concepts.get(spoken)
        return None if name is None else forms.Guess(name, narrower=spoken in self.narrower)

    def meaning(self, slot: str, words: Tokens) -> Form | None:
        """Return the form of a phrase in a slot, or None; articles and "very" are ignored."""
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


def read_phrases(knowledge: Knowledge) -> Table:
    """Return the synonym table with the phrases of a knowledge's facts."""
    said: Table = {slot: dict(each) for slot, each in data_file("synonyms.toml").items()}
    for key_of_fact, fact in knowledge.facts.items():
        for slot, phrases in fact.said.items():
            if slot not in said:
                raise ValueError(f"{key_of_fact}: there is no slot {slot!r}")
            said[slot][key_of_fact] = [*said[slot].get(key_of_fact, ()), *phrases]
    return said


def lexicon(knowledge: Knowledge) -> Lexicon:
    """Return the meanings of phrases for a knowledge."""
    meant, said = partial(read_meaning, knowledge=knowledge), read_phrases(knowledge)
    inflected: dict[str, list[Callable[[str], str]]] = {
        "have": [str, grammar.plural],
        "made_of": [str, grammar.plural],
        "place": [str, grammar.plural],
        "verb": [str, grammar.third_person],
    }
    slots = {slot: _slot(said[slot], inflected.get(slot, [str]), meant) for slot in _SLOTS}
    slots["verbing"] = _slot(said["verb"], [grammar.gerund], meant)
    slots["purposing"] = {
        **_slot(said["for"], [str], meant),
        **_slot(said["purpose"], [grammar.gerund], meant),
    }
    slots["passive"] = _slot(
        said["people"], [lambda said: grammar.participle(_without_it(said))], meant
    )
    slots["fronted"] = _front_objects(said["people"], meant)
    slots["colour"] = {words: form for words, form in slots["is"].items() if form in _COLOURS}
    slots["gap"] = _slot(said["people"], [_without_it], meant)
    named_kinds = _index(
        [(fact, word) for fact in knowledge.facts for word in said["kind"].get(fact, ())]
        + [(k, word) for k, kind in knowledge.kinds.items() for word in kind.words]
        + [(meaning, word) for meaning, words in said["kind"].items() for word in words]
    )
    kinds = {words: meant(each) for words, each in named_kinds.items()}
    concepts = _index(
        [(name, name) for name in knowledge.concepts]
        + [(name, alias) for name, each in knowledge.concepts.items() for alias in each.aliases]
    )
    slots["noun"] = {**kinds, **slots["is"]}
    vocabulary = _words(kinds, *slots.values())
    # "Of the crow family": a crow, or unknown for others of its kind.
    slots["family"] = {
        spoken: forms.Either(
            (forms.IsNoun(name), forms.Narrowed(forms.IsKind(knowledge.concepts[name].kinds[0])))
        )
        for spoken, name in concepts.items()
        if "animal" in knowledge.concepts[name].memberships
    }
    nouns = knowledge.nouns
    return Lexicon(
        knowledge=knowledge,
        slots=slots,
        kinds=kinds,
        concepts=concepts,
        narrower=_narrower(knowledge, concepts),
        references={scale: dict(_objects(scale, knowledge)) for scale in knowledge.scales},
        thirds={
            key(phrase(grammar.third_person(each)).split()): each
            for phrases in said["verb"].values()
            for each in map(phrase, phrases)
        },
        vocabulary=vocabulary,
        names=_words(concepts).union(nouns.classes, nouns.above, nouns.below),
    )


def _words(*tables: Mapping[str, object]) -> frozenset[str]:
    return frozenset(word for each in tables for words in each for word in words.split())


def read_meaning(written: str, knowledge: Knowledge) -> Form:
    """Return the form of a key of the synonym table, or raise a ValueError."""
    for sign, make in (("|", forms.Either), ("&", forms.And)):
        if sign in written:
            return make(tuple(read_meaning(p.strip(), knowledge) for p in written.split(sign)))
    if written.startswith("!"):
        return forms.Not(read_meaning(written.removeprefix("!"), knowledge))
    composed: dict[str, str] = data_file("synonyms.toml")["meanings"]
    if written in composed:
        return read_meaning(composed[written], knowledge)
    if written in knowledge.kinds:
        return forms.IsKind(written)
    if written in knowledge.features:
        return forms.Has(written)
    if written in knowledge.facts:
        return forms.Knows(written)
    level = _LEVEL.fullmatch(written)
    if not level:
        raise ValueError(f"synonyms.toml: {written!r} is not a kind, feature or fact")
    return forms.Compare(level[1], "more" if level[2] == ">" else "less", int(level[3]))


def _slot(
    said: Mapping[str, list[str]], inflections: list[Callable[[str], str]], meant: ReadMeaning
) -> dict[str, Form]:
    return {
        key(inflect(each).split()): meant(meaning)
        for inflect in reversed(inflections)
        for meaning, phrases in said.items()
        for each in map(phrase, phrases)
    }


def _front_objects(said: Mapping[str, list[str]], meant: ReadMeaning) -> dict[str, Form]:
    """Return actions in or with it, with the object first ("things stored in it")."""
    fronted: dict[str, Form] = {}
    for meaning, phrases in said.items():
        for verb, *rest in (phrase(each).split() for each in phrases):
            once = rest[-1:] == ["it"] and rest.count("it") == 1
            if once and len(rest) > 2 and rest[-2] in _PREPOSITIONS:
                words = (*rest[:-2], grammar.participle(verb), *rest[-2:])
                fronted.setdefault(key(words), meant(meaning))
    return fronted


def _without_it(words: str) -> str:
    return " ".join(word for word in words.split() if word != "it")


def _index(named: list[tuple[str, str]]) -> dict[str, str]:
    """Return meanings by their words, singular before plural; the first of two counts."""
    words: dict[str, str] = {}
    for inflect in (str, grammar.plural):
        for meaning, word in named:
            words.setdefault(key(phrase(inflect(word)).split()), meaning)
    return words


def _narrower(knowledge: Knowledge, concepts: Mapping[str, str]) -> frozenset[str]:
    """Return the names of subkinds of a concept ("grizzly", "birthday cake")."""
    return frozenset(
        spoken
        for spoken, name in concepts.items()
        if name in knowledge.nouns.below.get(grammar.singulars(spoken)[-1], ())
        or name in knowledge.nouns.below.get(spoken, ())
        or (spoken.endswith(f" {name}") and spoken != name)
    )


def _objects(scale: str, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Yield objects of comparison and their names; those of scales.toml come last and prevail."""
    own = knowledge.scales[scale].references
    for reference, synonyms in data_file("synonyms.toml")["references"].items():
        if reference in own or reference in knowledge.concepts:
            for synonym in synonyms:
                if synonym not in knowledge.concepts:
                    yield key(phrase(synonym).split()), reference
    for reference in own:
        yield key(phrase(reference).split()), reference


@cache
def frames() -> Frames[tuple[str, bool]]:
    """Return the frames of each slot of the synonym table, and of its negation."""
    written: dict[tuple[str, bool], list[str]] = {}
    for slot, each in data_file("frames.toml").items():
        for frame in each:
            denied = frame.startswith(DENIES)
            written.setdefault((slot, denied), []).append(frame.removeprefix(DENIES))
    return Frames(written)
