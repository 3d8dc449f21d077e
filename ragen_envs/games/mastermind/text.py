"""The texts of Mastermind: its rules, the guesses with their answers, and how codes are read."""

from __future__ import annotations

from functools import cache, lru_cache
from math import log2

from ragen_envs.core.protocol import SEPARATOR, ActionReader
from ragen_envs.core.wording import pluralize
from ragen_envs.games.mastermind.rules import LETTERS, Codes, all_codes

EXAMPLE = "CODE"
_HEAD = "Guesses so far, with their answers:"


def rules(pegs: int, turns: int) -> str:
    """Return the rules."""
    return (
        f"You are playing Mastermind: find the secret code of {pegs} pegs. Each peg has one of "
        f"{len(LETTERS)} colours, {', '.join(LETTERS)}, and several pegs may have the same.\n"
        "A guess is answered by two numbers: how many of its pegs have the colour of the code at "
        "that place, and how many of its other pegs have a colour that the code has at another "
        "place. Each peg of the guess and of the code counts once.\n"
        "Some guesses have been made. All codes that agree with all answers are equally likely.\n"
        f"Each turn, make one guess: {pegs} letters with blanks between them. It may be any code.\n"
        f"You have {pluralize(turns, 'turn')}."
    )


@lru_cache(maxsize=8192)
def row(pegs: int, guess: int, kind: int) -> str:
    """Return a guess with its answer, by their numbers in `all_codes(pegs)`."""
    every = all_codes(pegs)
    in_place, elsewhere = every.kinds[kind]
    return f"{every.names[guess]}: {in_place} in place, {elsewhere} elsewhere"


@lru_cache(maxsize=4096)
def table(pegs: int, rows: tuple[tuple[int, int], ...]) -> str:
    """Return guesses with their answers, one per line under a heading."""
    return "\n".join([_HEAD, *[row(pegs, guess, kind) for guess, kind in rows]])


def ending(name: str, found: bool) -> str:
    """Return the line that names the code at the end."""
    return f"You found the code: {name}." if found else f"The code was {name}."


@lru_cache(maxsize=8192)
def bits(before: int, after: int) -> float:
    """Return the bits of information that reduce `before` equally likely codes to `after`."""
    return round(log2(before / after), 9)


class CodeReader(ActionReader):
    """Reads guesses, in which neither case nor blanks matter: "aab" is "A A B"."""

    def __init__(self, every: Codes) -> None:
        super().__init__(every.names, EXAMPLE)
        self._pegs = every.pegs
        self._index = {"".join(name.lower().split()): i for i, name in enumerate(every.names)}

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles name the size, as those of the codes do."""
        return reader, (self._pegs,)

    def _words(self, body: str) -> list[str]:
        return ["".join(word.lower().split()) for word in body.split(SEPARATOR)]


@cache
def reader(pegs: int) -> CodeReader:
    """Return the reader of the codes of a size."""
    return CodeReader(all_codes(pegs))
