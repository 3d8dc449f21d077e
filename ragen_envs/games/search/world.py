"""A world: invented things, facts about them, and the pages and the index of its encyclopedia."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

from ragen_envs.core.bm25 import Postings, build
from ragen_envs.core.instances import RandomStream

COUNTS = {"person": 20, "town": 10, "region": 5, "river": 5, "works": 8, "building": 8, "book": 10}
"""Number of things of each kind, in the order of the pages."""
HITS = 5
"""Most results of a search."""
_FIRST_NAMES, _FAMILIES = 12, 7
_FIRST_YEAR, _YEARS = 1600, 300


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a kind of thing to another kind, or to a year; see vocabulary.toml."""

    name: str
    subject: str
    object: str
    clauses: tuple[str, ...]
    forward: str
    inverse: str = ""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Stems of names by "train" and "held_out", endings, second words of titles, relations."""

    stems: dict[str, list[str]]
    endings: dict[str, list[str]]
    seconds: dict[str, list[str]]
    relations: tuple[Relation, ...]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, read once per process."""
    file = files("ragen_envs.games.search").joinpath("vocabulary.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    relations = tuple(
        Relation(**{**row, "clauses": tuple(row["clauses"])}) for row in tables.pop("relation")
    )
    return Vocabulary(**tables, relations=relations)


class Fact(NamedTuple):
    """A fact: numbers of a thing and of a relation, and the thing or year that it leads to.

    Years are their own numbers, which are greater than those of all things.
    """

    subject: int
    relation: int
    object: int


@dataclass(frozen=True)
class World:
    """Things by their titles and kinds, facts about them, and a page for each thing."""

    titles: tuple[str, ...]
    kinds: tuple[str, ...]
    facts: tuple[Fact, ...]
    pages: tuple[str, ...]

    def name(self, thing: int) -> str:
        """Return the title of a thing, or a year."""
        return self.titles[thing] if thing < len(self.titles) else str(thing)

    @cached_property
    def facts_on(self) -> tuple[tuple[Fact, ...], ...]:
        """The facts on each page."""
        found: list[list[Fact]] = [[] for _ in self.titles]
        for fact in self.facts:
            found[fact.subject].append(fact)
        return tuple(map(tuple, found))

    @cached_property
    def _postings(self) -> Postings:
        return build(f"{title} {page}" for title, page in zip(self.titles, self.pages, strict=True))

    def search(self, words: str) -> list[int]:
        """Return the things whose pages fit words best, the best one first."""
        return self._postings.find(words, HITS)


def make_world(stream: RandomStream, pool: str) -> World:
    """Return a random world with names from the pool "train" or "held_out"."""
    by_kind = _make_titles(stream, pool)
    titles = tuple(title for kind in COUNTS for title in by_kind[kind])
    kinds = tuple(kind for kind in COUNTS for _ in by_kind[kind])
    facts = tuple(_make_facts(stream, kinds))
    sentences: list[list[str]] = [[] for _ in titles]
    for subject, relation, thing in facts:
        clauses = vocabulary().relations[relation].clauses
        name = titles[thing] if thing < len(titles) else str(thing)
        sentences[subject].append(clauses[stream.below(len(clauses))].format(name))
    pages = tuple(
        f"{title} ({kind}). {' '.join(rows)}"
        for title, kind, rows in zip(titles, kinds, sentences, strict=True)
    )
    return World(titles, kinds, facts, pages)


def _make_titles(stream: RandomStream, pool: str) -> dict[str, list[str]]:
    """Return different titles for the things of each kind."""
    words = vocabulary()
    stems, seconds = words.stems[pool], words.seconds

    def names(role: str, count: int) -> list[str]:
        endings = words.endings[role]
        chosen = stream.sample(range(len(stems)), count)
        return [stems[place] + endings[stream.below(len(endings))] for place in chosen]

    def pairs(form: str, firsts: Sequence[str], lasts: Sequence[str], kind: str) -> list[str]:
        places = stream.sample(range(len(firsts) * len(lasts)), COUNTS[kind])
        chosen = (divmod(place, len(lasts)) for place in places)
        return [form.format(firsts[first], lasts[last]) for first, last in chosen]

    families = names("last", _FAMILIES)
    towns = names("town", COUNTS["town"])
    return {
        "person": pairs("{} {}", names("first", _FIRST_NAMES), families, "person"),
        "town": towns,
        "region": names("region", COUNTS["region"]),
        "river": names("river", COUNTS["river"]),
        "works": pairs("{} {}", families, seconds["works"], "works"),
        "building": pairs("{} {}", towns, seconds["building"], "building"),
        "book": pairs("The {} {}", towns, seconds["book"], "book"),
    }


def _make_facts(stream: RandomStream, kinds: Sequence[str]) -> list[Fact]:
    """Return a random fact for each thing and each relation of its kind."""
    things: dict[str, list[int]] = {kind: [] for kind in COUNTS}
    for thing, kind in enumerate(kinds):
        things[kind].append(thing)
    facts = []
    for subject, kind in enumerate(kinds):
        for number, relation in enumerate(vocabulary().relations):
            if relation.subject != kind:
                continue
            if relation.object == "year":
                facts.append(Fact(subject, number, _FIRST_YEAR + stream.below(_YEARS)))
                continue
            # Only elders teach, so that nobody is their own teacher's teacher.
            known = things[relation.object]
            chosen = known if relation.object != kind else [t for t in known if t < subject]
            if chosen:
                facts.append(Fact(subject, number, chosen[stream.below(len(chosen))]))
    return facts
