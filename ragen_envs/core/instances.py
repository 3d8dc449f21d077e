"""Random streams, content hashes, and the splits of instances that the hashes decide.

Every random choice of the suite comes from a `RandomStream`, a pure function of its labels. No
global random generator is read or written, so all processes, platforms and NumPy versions agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from struct import unpack
from typing import Literal, Protocol, TypeVar, get_args

Split = Literal["train", "val", "test", "sealed", "drawn"]
SPLITS: tuple[Split, ...] = get_args(Split)
SHIPPED_SPLITS: tuple[Split, ...] = ("val", "test")
"""The splits whose instances lie in the package."""
HELD_OUT_SIZE = 256
"""Number of instances in each split but train; some games have fewer."""

_WORD_BYTES = 8
_FIRST_BLOCK = 21
"""SHAKE-128 squeezes 168 bytes at a time, so fewer words would cost the same."""
_ATTEMPTS = 100
"""Tries for each instance that `held_out` makes."""
_CANDIDATES = 4096
"""Tries that `draw` makes. Where one in ten gives a train instance, all failing has odds 1e-187."""


class RandomStream:
    """An endless sequence of random words that is a pure function of its labels.

    Words are squeezed from SHAKE-128 over the labels, each preceded by its length, so that
    different labels never run together.

    Args:
        labels: Labels of the stream, such as the environment's name, the split and the seed.
    """

    __slots__ = ("_words",)

    def __init__(self, *labels: str | int) -> None:
        texts = [str(label) for label in labels]
        source = hashlib.shake_128("".join([f"{len(t)}:{t}" for t in texts]).encode())
        self._words = chain.from_iterable(_blocks(source.digest))

    def word(self) -> int:
        """Return the next 64 random bits as an int."""
        return next(self._words)

    def words(self, count: int) -> list[int]:
        """Return the next `count` words, faster than by calls of `word`."""
        return list(islice(self._words, count))

    def rolls(self, bound: int, count: int) -> list[int]:
        """Return `count` ints in [0, bound), faster than `below`; bound is not checked."""
        return [word * bound >> 64 for word in islice(self._words, count)]

    def below(self, bound: int) -> int:
        """Return an int in [0, bound), uniform to within bound / 2**64.

        Raises:
            ValueError: Bound is not in [1, 2**32].
        """
        if not 1 <= bound <= 1 << 32:
            raise ValueError(f"bound must be between 1 and 2**32, got {bound}")
        return next(self._words) * bound >> 64

    def sample(self, population: Iterable[int], count: int) -> list[int]:
        """Return count different members in random order (a partial Fisher-Yates shuffle).

        Raises:
            ValueError: The population has fewer than count members.
        """
        pool = list(population)
        if count > len(pool):
            raise ValueError(f"cannot sample {count} of {len(pool)}")
        for i in range(count):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]


def _blocks(digest: Callable[[int], bytes]) -> Iterator[tuple[int, ...]]:
    """Yield the words of an extendable-output function, a block four times as long each time."""
    done, words = 0, _FIRST_BLOCK
    while True:
        # The output has the same prefix at every length.
        yield unpack(f"<{words}Q", digest(done + words * _WORD_BYTES)[done:])
        done += words * _WORD_BYTES
        words *= 4


def content_hash(game: str, canonical: bytes) -> str:
    """Return the 16 hex digits that name an instance up to the symmetries of its game.

    Args:
        game: Name of the game, shared by all its variants.
        canonical: Canonical form of the instance, equal for all its symmetric images.
    """
    return hashlib.sha256(b"%s\0%s" % (game.encode(), canonical)).hexdigest()[:16]


def partition_of(digest: str, sixteenths: int = 1) -> str:
    """Return the one part of the instance space that a content hash belongs to.

    Args:
        digest: Hash in hex digits; the first one decides.
        sixteenths: Number of sixteenths in each of val, test and sealed (instances that a
            benchmark host derives from a secret key); the rest is train. Games with few instances
            hold more of them out, so that the held-out instances are typical.
    """
    part = int(digest[0], 16) // sixteenths
    return ("val", "test", "sealed")[part] if part < 3 else "train"


class Instance(Protocol):
    """The interface of all instances."""

    @property
    def digest(self) -> str:
        """The content hash, see `content_hash`."""
        ...

    @property
    def part(self) -> str:
        """The part of the game's instances that it belongs to: train, val, test or sealed.

        Usually `partition_of` a hash of the properties that play does not change, so that
        instances of different parts share no state.
        """
        ...


I = TypeVar("I", bound=Instance)  # noqa: E741


def draw(
    candidates: Callable[[RandomStream], Iterable[I | None]], stream: RandomStream, split: Split
) -> I:
    """Return the first candidate of the stream that belongs to the split, out of 4,096."""
    for instance in islice(candidates(stream), _CANDIDATES):
        if instance is not None and instance.part == split:
            return instance
    raise RuntimeError(f"no {split} instance among the first {_CANDIDATES} candidates")


def held_out(
    candidates: Callable[[RandomStream], Iterable[I | None]],
    name: str,
    split: Split,
    taken: set[str],
    secret: str = "",
    size: int = HELD_OUT_SIZE,
) -> list[I]:
    """Generate the held-out instances of one environment, no two alike up to symmetry.

    `taken` has the hashes of the game's instances that other variants use; the new ones are added.
    A secret is an extra label of the streams. Too few different instances are a RuntimeError.
    """
    chosen: list[I] = []
    secrets = (secret,) if secret else ()
    for attempt in range(_ATTEMPTS * size):
        stream = RandomStream("instance", name, split, attempt, *secrets)
        instance = draw(candidates, stream, split)
        if instance.digest not in taken:
            taken.add(instance.digest)
            chosen.append(instance)
        if len(chosen) == size:
            return chosen
    raise RuntimeError(f"{name} has too few different {split} instances: {len(chosen)} found")
