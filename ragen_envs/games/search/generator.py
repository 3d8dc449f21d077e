"""Questions that lead from a named thing over several facts to their answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from ragen_envs.core.held_out import load
from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.games.search.world import COUNTS, World, make_world, vocabulary

GAME = "search"
_FEWEST_HOPS, _MOST_HOPS = 2, 6
_TRIES = 1000
"""Walks tried in a world; a walk of two or three is a question."""
_CACHED = 512


class Hop(NamedTuple):
    """A step of a question: the number of a relation, and its direction."""

    relation: int
    is_inverse: bool


class Lookup(NamedTuple):
    """A page that the question needs, and the thing whose name finds it."""

    page: int
    by: int


@dataclass(frozen=True)
class Task:
    """A question in its world: a chain of things from the named one to the answer, by hops."""

    world: World
    chain: tuple[int, ...]
    hops: tuple[Hop, ...]

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The pages with the facts of the hops, each once, in their order."""
        pages: dict[int, int] = {}
        for before, after, hop in zip(self.chain, self.chain[1:], self.hops, strict=False):
            pages.setdefault(after if hop.is_inverse else before, before)
        return tuple(Lookup(page, by) for page, by in pages.items())

    @property
    def answer(self) -> str:
        return self.world.name(self.chain[-1])

    @cached_property
    def question(self) -> str:
        phrase = self.world.name(self.chain[0])
        for hop in self.hops:
            relation = vocabulary().relations[hop.relation]
            phrase = (relation.inverse if hop.is_inverse else relation.forward).format(phrase)
        is_person = self.chain[-1] < COUNTS["person"]
        return f"{'Who' if is_person else 'What'} is {phrase}?"

    @cached_property
    def text(self) -> str:
        """The question and its answer, as files of held-out instances have them."""
        return f"{self.question}\n{self.answer}"


@dataclass(frozen=True)
class Question:
    """An instance: a random number, from which a world and a question of some hops follow.

    `shipped` is the text of the task in a file of held-out instances, None without a file.
    """

    number: int
    min_hops: int
    max_hops: int
    shipped: str | None = field(default=None, compare=False)

    @property
    def task(self) -> Task:
        """The task; ValueError if it is no longer the one that was shipped."""
        task = build_task(self)
        if self.shipped is not None and self.shipped != task.text:
            asked = self.shipped.partition("\n")[0]
            raise ValueError(f"number {self.number} no longer gives {asked!r} with its answer")
        return task

    @cached_property
    def digest(self) -> str:
        """The content hash, of the question in words: no held-out split asks one twice."""
        return content_hash(GAME, self.task.question.encode())

    @property
    def part(self) -> str:
        """The part that this question belongs to: each world has one question."""
        return partition_of(content_hash(f"{GAME} world", str(self.number).encode()))


@dataclass(frozen=True)
class Generator:
    """Makes questions of `min_hops` to `max_hops` hops, from 2 to 6.

    Raises:
        ValueError: Another number of hops.
    """

    min_hops: int = 2
    max_hops: int = 4

    def __post_init__(self) -> None:
        if not _FEWEST_HOPS <= self.min_hops <= self.max_hops <= _MOST_HOPS:
            raise ValueError(
                f"hops go from {_FEWEST_HOPS} to {_MOST_HOPS}, got {self.min_hops} to "
                f"{self.max_hops}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Question]:
        """Yield questions, pure functions of the stream; no sealed one is asked in val or test."""
        while True:
            question = Question(stream.word(), self.min_hops, self.max_hops)
            if question.part != "sealed" or question.digest not in _public_digests():
                yield question


@cache
def _public_digests() -> frozenset[str]:
    """Return the digests of the shipped questions, whose first line is the question."""

    def digest(body: str, _: dict[str, str]) -> str:
        return content_hash(GAME, body.splitlines()[0].encode())

    paths = [f"questions/Search-v0-{split}.txt" for split in ("val", "test")]
    return frozenset(one for path in paths for one in load(__package__, path, digest))


@lru_cache(maxsize=_CACHED)
def build_task(question: Question) -> Task:
    """Return the task of a question."""
    stream = RandomStream("search world", question.number)
    world = make_world(stream, "train" if question.part == "train" else "held_out")
    count = question.min_hops + stream.below(question.max_hops - question.min_hops + 1)
    for _ in range(_TRIES):
        task = _walk(world, count, stream)
        if task and is_sound(task):
            return task
    raise RuntimeError(f"no question of {count} hops in world {question.number}")


def _walk(world: World, count: int, stream: RandomStream) -> Task | None:
    """Return a random chain of things without repeats; None if it ends early."""
    chain = [stream.below(len(world.titles))]
    hops: list[Hop] = []
    for _ in range(count):
        if chain[-1] >= len(world.titles):
            return None
        choices = [(hop, end) for hop, end in list_hops(world, chain[-1]) if end not in chain]
        if not choices:
            return None
        hop, end = choices[stream.below(len(choices))]
        hops.append(hop)
        chain.append(end)
    return Task(world, tuple(chain), tuple(hops))


def list_hops(world: World, thing: int) -> Iterator[tuple[Hop, int]]:
    """Yield the hops from a thing that lead to exactly one other, with that one."""
    for fact in world.facts_on[thing]:
        yield Hop(fact.relation, False), fact.object
    subjects: dict[int, list[int]] = {}
    for fact in world.facts:
        if fact.object == thing:
            subjects.setdefault(fact.relation, []).append(fact.subject)
    for relation, found in subjects.items():
        if len(found) == 1 and vocabulary().relations[relation].inverse:
            yield Hop(relation, True), found[0]


def is_sound(task: Task) -> bool:
    """Return whether it needs several pages, names find them, and only the last has the answer."""
    world, answer = task.world, task.chain[-1]
    early = task.lookups[:-1]
    return (
        len(early) > 0
        and not any(fact.object == answer for page, _ in early for fact in world.facts_on[page])
        and all(page in world.search(world.name(by)) for page, by in task.lookups)
    )
