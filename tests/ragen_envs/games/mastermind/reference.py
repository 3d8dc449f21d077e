"""Mastermind by brute force, which knows nothing of the package."""

from functools import cache
from itertools import permutations, product

import numpy as np

LETTERS = "ABCDEF"


def told(guess, secret):
    """Return the answer: pegs in place, then pegs elsewhere, by taking away what is matched."""
    rest = [(g, s) for g, s in zip(guess, secret, strict=True) if g != s]
    left = [s for _, s in rest]
    elsewhere = 0
    for g, _ in rest:
        if g in left:
            left.remove(g)
            elsewhere += 1
    return len(guess) - len(rest), elsewhere


def codes(pegs, colours=6):
    """Return all codes as text, in order."""
    return ["".join(code) for code in product(LETTERS[:colours], repeat=pegs)]


def possible(pegs, rows, colours=6):
    """Return the codes that agree with rows of a guess and its answer."""
    every = codes(pegs, colours)
    return [code for code in every if all(told(guess, code) == answer for guess, answer in rows)]


@cache
def most_found(left, guesses, every):
    """Return the most of the codes left that so many guesses find: every guess is tried."""
    if not left or guesses == 0:
        return 0
    return max(found(left, guess, guesses, every) for guess in every)


def found(left, guess, guesses, every):
    """Return how many are found where this guess comes first."""
    parts = {}
    for code in left:
        parts.setdefault(told(guess, code), []).append(code)
    return sum(
        1 if answer[0] == len(guess) else most_found(tuple(part), guesses - 1, every)
        for answer, part in parts.items()
    )


def renamed(code, names, places):
    """Return a code with other colours in other places."""
    return "".join(names[code[place]] for place in places)


def renamings(pegs):
    """Return all names of the colours with all orders of the places."""
    names = [dict(zip(LETTERS, other, strict=True)) for other in permutations(LETTERS)]
    return list(product(names, permutations(range(pegs))))


@cache
def images(pegs):
    """Return where each renaming takes each code, of shape (renamings, codes)."""
    every = np.array([[LETTERS.index(letter) for letter in code] for code in codes(pegs)])
    weights = 6 ** np.arange(pegs)[::-1]
    return np.array(
        [
            np.array(names)[every[:, places]] @ weights
            for names in permutations(range(6))
            for places in permutations(range(pegs))
        ]
    )


def canonical(left, pegs):
    """Return the least image of a set of codes, given by their numbers."""
    held = np.zeros(6**pegs, dtype=bool)
    held[list(left)] = True
    return min(map(bytes, np.packbits(held[images(pegs)], axis=1)))


def rows(lines):
    """Return the rows of an opening's lines, such as "A A B 1 0", as `possible` takes them."""
    parts = [line.split() for line in lines]
    return [("".join(part[:-2]), (int(part[-2]), int(part[-1]))) for part in parts]
