"""The rules of Mastermind: codes, answers to guesses, and openings with their generator.

Codes are numbered in lexicographic order, and so are the kinds of answers. A set of codes is an
int whose bit i is set if it holds code i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.instances import RandomStream, content_hash, partition_of

GAME = "mastermind"
LETTERS = "ABCDEF"
"""The names of the colours."""
MOST_PEGS = 4
Code = tuple[int, ...]
"""The colour at each place, from 0."""


class Codes:
    """All codes of a size with their answers. Use `all_codes`, which keeps them.

    `names` are the codes as text, "A A B"; `kinds` the different answers as pairs of numbers, and
    `win` the index of the right guess's. `answers` has the index of the answer for each guess and
    secret, of shape (codes, codes), and `rows` the same, one bytes object per guess.
    """

    def __init__(self, pegs: int, colours: int) -> None:
        if not 1 <= pegs <= MOST_PEGS or not 2 <= colours <= len(LETTERS):
            raise ValueError(
                f"codes have 1 to {MOST_PEGS} pegs of 2 to {len(LETTERS)} colours, "
                f"got {pegs!r} and {colours!r}"
            )
        self.pegs = pegs
        self.codes: tuple[Code, ...] = tuple(product(range(colours), repeat=pegs))
        self.names = tuple(" ".join(LETTERS[colour] for colour in code) for code in self.codes)
        numbers = _answers(np.array(self.codes), pegs, colours)
        found, places = np.unique(numbers, return_inverse=True)
        self.kinds = [divmod(int(number), pegs + 1) for number in found]
        self.win = self.kinds.index((pegs, 0))
        self.answers: NDArray[np.uint8] = places.reshape(numbers.shape).astype(np.uint8)
        self.rows = [row.tobytes() for row in self.answers]
        self._agreeing: dict[tuple[int, int], int] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles name the size: the tables are large, and the same in any process."""
        return all_codes, (self.pegs,)

    def agreeing(self, guess: int, kind: int) -> int:
        """Return the set of codes for which a guess gets an answer."""
        try:
            return self._agreeing[guess, kind]
        except KeyError:
            bits = np.packbits(self.answers[guess] == kind, bitorder="little")
            agreeing = self._agreeing[guess, kind] = int.from_bytes(bits.tobytes(), "little")
            return agreeing

    def members(self, codes: int) -> tuple[int, ...]:
        """Return the numbers of the codes of a set, in order."""
        bits = np.frombuffer(codes.to_bytes((len(self.codes) + 7) // 8, "little"), np.uint8)
        return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


def _answers(codes: NDArray[np.int_], pegs: int, colours: int) -> NDArray[np.int_]:
    """Return the answers as numbers that grow with the pegs in place, then with the others."""
    in_place = np.zeros((len(codes), len(codes)), dtype=np.int_)
    for place in range(pegs):
        in_place += codes[:, None, place] == codes[None, :, place]
    common = np.zeros_like(in_place)
    for colour in range(colours):
        counts = (codes == colour).sum(axis=1)
        common += np.minimum(counts[:, None], counts[None, :])
    return in_place * (pegs + 1) + common - in_place


@cache
def all_codes(pegs: int) -> Codes:
    """Return the codes of a size, of all colours."""
    return Codes(pegs, len(LETTERS))


@dataclass(frozen=True)
class Opening:
    """An instance: the first guesses, with their answers."""

    pegs: int
    rows: tuple[tuple[int, int], ...]  # indices of guesses and answers in `all_codes(pegs)`
    ceiling: float | None = None  # success rate of the best player, if it is known

    @cached_property
    def possible(self) -> int:
        """The set of the codes that agree with all answers."""
        every = all_codes(self.pegs)
        left = (1 << len(every.codes)) - 1
        for guess, kind in self.rows:
            left &= every.agreeing(guess, kind)
        return left

    @cached_property
    def secrets(self) -> tuple[int, ...]:
        """The codes that agree with all answers, in order."""
        return all_codes(self.pegs).members(self.possible)

    @cached_property
    def digest(self) -> str:
        """The content hash, equal for all names of colours and orders of places and of rows."""
        every = all_codes(self.pegs)
        rows = [(every.codes[guess], every.kinds[kind]) for guess, kind in self.rows]
        return content_hash(GAME, repr(min(_equivalent_rows(rows))).encode())

    @property
    def part(self) -> str:
        # The possible codes alone decide it, through `census`: openings of different parts leave
        # different sets of codes, under any renaming of colours and places.
        digest = content_hash(f"{GAME} possible codes", repr(census(self)).encode())
        return partition_of(digest, sixteenths=3)


def _equivalent_rows(
    rows: list[tuple[Code, tuple[int, int]]],
) -> Iterator[list[tuple[Code, tuple[int, int]]]]:
    """Yield the rows in each order of rows and places, with colours numbered by first use."""
    for order in permutations(rows):
        for places in permutations(range(len(rows[0][0]))):
            names: dict[int, int] = {}
            yield [
                (tuple(names.setdefault(code[place], len(names)) for place in places), kind)
                for code, kind in order
            ]


def census(opening: Opening) -> tuple[tuple[int, ...], ...]:
    """Return how many possible codes have each colour at each place, in a canonical order."""
    every = all_codes(opening.pegs)
    columns = zip(*(every.codes[secret] for secret in opening.secrets), strict=True)
    counts = [[column.count(colour) for colour in range(len(LETTERS))] for column in columns]
    return max(
        tuple(sorted(zip(*order, strict=True), reverse=True)) for order in permutations(counts)
    )


@dataclass(frozen=True)
class Generator:
    """Makes openings whose guesses each rule out at least one code."""

    pegs: int = 3
    rows: int = 3  # guesses in an opening
    fewest: int = 6  # codes that an opening leaves, as `most`
    most: int = 40

    def __post_init__(self) -> None:
        if not 2 <= self.fewest <= self.most:
            raise ValueError(
                f"fewest is at least 2 and at most most, got {self.fewest!r} and {self.most!r}"
            )

    def __call__(self, stream: RandomStream) -> Iterator[Opening | None]:
        """Yield openings, each a pure function of the stream, and None where a try gave none."""
        every = all_codes(self.pegs)
        while True:
            secret, *guesses = stream.rolls(len(every.codes), 1 + self.rows)
            rows = tuple((guess, every.rows[guess][secret]) for guess in guesses)
            yield self._opening(rows)

    def _opening(self, rows: tuple[tuple[int, int], ...]) -> Opening | None:
        every = all_codes(self.pegs)
        left = (1 << len(every.codes)) - 1
        for guess, kind in rows:
            before = left
            left &= every.agreeing(guess, kind)
            if left == before:
                return None
        return Opening(self.pegs, rows) if self.fewest <= left.bit_count() <= self.most else None
