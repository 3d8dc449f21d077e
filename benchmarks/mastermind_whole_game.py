"""The fewest guesses that the whole game of 4 pegs and 6 colours takes, by exhaustive search.

    PYTHONPATH=. python benchmarks/mastermind_whole_game.py

MastermindLarge-v0 begins with two answered guesses, so the suite never searches the whole game. Its
page quotes 5625 guesses for all 1,296 codes together (Koyama and Lai 1993), and this checks them.
For a set S of possible codes the fewest guesses in all are

    T(S) = |S| + min over g of the sum over the other answers a of T(S(g, a)).

Guesses are tried in the order of a lower bound, until no bound is below what was found. Of the
first guess only the kinds count that names of colours and order of places do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.mastermind.rules import Codes, all_codes

FIRST = ("A A B C", "A A B B", "A B C D", "A A A B", "A A A A")
"""One guess of each kind, the best one first: the others need not be searched to their ends."""


def bounds(most: int, answers: int) -> NDArray[np.int_]:
    """Return a lower bound of T for each size of a set.

    Args:
        most: the greatest size.
        answers: Number of different hints of a guess, apart from the winning one.
    """
    least = [0]
    found, turn, room = 0, 1, 1
    for size in range(1, most + 1):
        if size - found > room:
            found, turn, room = found + room, turn + 1, room * answers
        least.append(least[-1] + turn)
    return np.array(least)


class WholeGame:
    """The fewest guesses for sets of codes.

    Args:
        every: the codes.
    """

    def __init__(self, every: Codes) -> None:
        self._every = every
        self._bounds = bounds(len(every.codes), len(every.kinds) - 1)
        self._known: dict[bytes, int] = {}

    def fewest(self, codes: NDArray[np.intp], limit: int) -> int:
        """Return T of these codes, or a number that is not below `limit` if T is not."""
        if len(codes) <= 2:
            return 2 * len(codes) - 1
        key = codes.tobytes()
        if key not in self._known:
            fewest = self._searched(codes, limit)
            if fewest >= limit:
                return fewest
            self._known[key] = fewest
        return self._known[key]

    def after(self, codes: NDArray[np.intp], guess: int, limit: int) -> int:
        """Return the fewest guesses where this one comes first, up to `limit` as in `fewest`."""
        answers = self._every.answers[guess, codes]
        parts = [codes[answers == kind] for kind in np.unique(answers) if kind != self._every.win]
        total = len(codes) + sum(int(self._bounds[len(part)]) for part in parts)
        for part in sorted(parts, key=len, reverse=True):
            if total >= limit:
                break
            bound = int(self._bounds[len(part)])
            total += self.fewest(part, limit - total + bound) - bound
        return total

    def _searched(self, codes: NDArray[np.intp], limit: int) -> int:
        answers = self._every.answers[:, codes]
        kinds = len(self._every.kinds)
        places = answers + kinds * np.arange(len(answers))[:, None]
        counts = np.bincount(places.ravel(), minlength=len(answers) * kinds).reshape(-1, kinds)
        right = counts[:, self._every.win]
        least = len(codes) + self._bounds[counts].sum(axis=1) - right
        telling = counts.max(axis=1) < len(codes)
        fewest, seen = limit, set()
        for guess in np.lexsort((-right, -(counts > 0).sum(axis=1), least)).tolist():
            if least[guess] >= fewest:
                break
            split = answers[guess].tobytes()
            if telling[guess] and split not in seen:
                seen.add(split)
                fewest = min(fewest, self.after(codes, guess, fewest))
        return fewest


def main() -> None:
    """Print the fewest guesses for all codes together, by the kind of the first one."""
    every = all_codes(4)
    game = WholeGame(every)
    codes = np.arange(len(every.codes))
    print("| first guess | guesses for all codes | mean |\n| --- | ---: | ---: |", flush=True)
    limit = 1 << 20
    for first in FIRST:
        fewest = game.after(codes, every.names.index(first), limit)
        if fewest < limit:
            print(f"| {first} | {fewest:,} | {fewest / len(codes):.4f} |", flush=True)
        else:
            print(f"| {first} | at least {limit:,} | |", flush=True)
        limit = min(fewest, limit)


if __name__ == "__main__":
    main()
