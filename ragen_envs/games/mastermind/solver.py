"""The exact best player: the maximum number of codes that can be found within k guesses.

All possible codes are equally likely, so the best rate of success is F(S, k) / |S|, where F(S, k)
is the maximum number of codes of the set S that one strategy finds within k guesses. A guess g
splits S by its answers into the sets S(g, a), so that

    F(S, k) = max over g of  [g in S] + sum over the other answers a of  F(S(g, a), k - 1),

F(S, 1) = 1, and F(S, 2) is the maximum number of different answers to one guess. Guesses are tried
in the order of an upper bound on their sums, until no bound exceeds the best result.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.budget import Budget
from ragen_envs.games.mastermind.rules import Codes, Opening, all_codes

_KEPT = 1 << 16


class Best(NamedTuple):
    """The best play from a set of codes: the number of codes that it finds, and its first guess."""

    found: int
    guess: int


class Solver:
    """The best play among the codes of a size. Use `solver`, which keeps it.

    Possible codes are given by their indices in order, at least one; `guesses` are those left, the
    next one included.
    """

    def __init__(self, every: Codes) -> None:
        self._every = every
        self._kinds = len(every.kinds)
        self._told = np.left_shift(np.uint16(1), every.answers.astype(np.uint16))
        self._different = np.array([n.bit_count() for n in range(1 << self._kinds)], dtype=np.uint8)
        self.best = lru_cache(maxsize=_KEPT)(self._best)

    def found_after(self, codes: tuple[int, ...], guess: int, guesses: int) -> int:
        """Return the number of codes that a guess, possible or not, and the best play find."""
        if guesses == 1:
            return int(guess in codes)
        answers = self._every.answers[guess, list(codes)].tobytes()
        return self._count_found(codes, answers, guesses, len(codes), enough=-1)

    def _best(self, codes: tuple[int, ...], guesses: int) -> Best:
        if guesses == 1 or len(codes) <= 2:
            return Best(min(guesses, len(codes)), codes[0])
        if guesses == 2:
            return self._split(codes)
        # A subset of the codes never has more found codes than the whole set.
        most = self.best(codes, guesses - 1).found
        columns = self._every.answers[:, list(codes)]
        bounds = np.minimum(self._sizes(columns), most).sum(axis=1)
        possible = np.zeros(len(bounds), dtype=np.int_)
        possible[list(codes)] = 1
        best = Best(0, codes[0])
        seen = set()
        for guess in np.argsort(-(2 * bounds + possible), kind="stable").tolist():
            bound = int(bounds[guess])
            if bound <= best.found:
                break
            answers = columns[guess].tobytes()
            if answers not in seen:
                seen.add(answers)
                found = self._count_found(codes, answers, guesses, most, best.found)
                best = Best(found, guess) if found > best.found else best
        return best

    def _split(self, codes: tuple[int, ...]) -> Best:
        """Return the guess with the most different answers, a possible code if there is one."""
        told = np.bitwise_or.reduce(self._told[list(codes)], axis=0)
        different = self._different[told]
        most = int(different.max())
        for code in codes:
            if different[code] == most:
                return Best(most, code)
        return Best(most, int(different.argmax()))

    def _sizes(self, columns: NDArray[np.uint8]) -> NDArray[np.int_]:
        """Return the number of codes per answer, of shape (guesses, kinds)."""
        guesses = len(columns)
        places = columns + self._kinds * np.arange(guesses)[:, None]
        counts = np.bincount(places.ravel(), minlength=guesses * self._kinds)
        return counts.reshape(guesses, self._kinds)

    def _count_found(
        self, codes: tuple[int, ...], answers: bytes, guesses: int, most: int, enough: int
    ) -> int:
        """Return the number of codes found after a guess that gets these answers.

        `most` is an upper bound for the codes of one answer. Results up to `enough` are not exact.
        """
        parts: dict[int, list[int]] = {}
        for code, kind in zip(codes, answers, strict=True):
            parts.setdefault(kind, []).append(code)
        total = sum(min(len(part), most) for part in parts.values())
        for part in sorted(parts.values(), key=len, reverse=True):
            if total <= enough:
                break
            # The right guess's part is one code, which counts one.
            total += self.best(tuple(part), guesses - 1).found - min(len(part), most)
        return total


@lru_cache(maxsize=8)
def solver(pegs: int) -> Solver:
    """Return the solver of the codes of a size."""
    return Solver(all_codes(pegs))


@lru_cache(maxsize=4096)
def ceiling(opening: Opening, budget: Budget) -> float:
    """Return the success rate of the best player after an opening, to nine digits."""
    guesses = min(budget.max_turns, budget.max_actions)
    best = solver(opening.pegs).best(opening.secrets, guesses)
    return round(best.found / len(opening.secrets), 9)
