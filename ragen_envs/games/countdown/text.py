"""The texts of Countdown: its rules, the results of expressions, and how responses are read."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import inf
from typing import NamedTuple

from ragen_envs.core.protocol import ActionReader, FreeText, Parsed
from ragen_envs.core.wording import pluralize
from ragen_envs.games.countdown.expressions import LONGEST, Value, expression_of, plain


class Result(NamedTuple):
    """The result of an expression.

    Without a usable expression it has no value, no unused numbers, and an infinite distance from
    the target. The distance has nine digits.
    """

    value: Value | None
    rest: tuple[int, ...] = ()
    distance: float = inf


EXAMPLE = "EXPRESSION"
_CHAINED = 4
"""Numbers in a listed expression; more would give too many expressions."""


def rules(count: int, turns: int) -> str:
    """Return the rules for a number of numbers and of turns."""
    return (
        f"You are playing Countdown: combine some of {count} numbers to give the target.\n"
        "Each turn, write one expression of whole numbers with +, -, *, / and parentheses. Each "
        "number may be used at most once for each time that it is listed, and need not be used.\n"
        "Values are exact. Fractions and numbers below zero are allowed on the way.\n"
        "You are told the value of each expression, how far it is from the target, and which "
        "numbers it did not use.\n"
        f"You have {pluralize(turns, 'turn')}."
    )


@lru_cache(maxsize=4096)
def evaluate(answered: str, numbers: tuple[int, ...], target: int) -> tuple[str, Result]:
    """Return the feedback on an expression, in the form that `plain` returns, and its result."""
    expression = expression_of(answered)
    if expression is None:
        return f"{answered}: it is no expression.", Result(None)
    rest = list(numbers)
    for number in expression.numbers:
        if expression.numbers.count(number) > numbers.count(number):
            more = "other " if number in numbers else ""
            return f"{expression.text}: there is no {more}{number} to use.", Result(None)
        rest.remove(number)
    if expression.value is None:
        return f"{expression.text}: it divides by zero.", Result(None)
    away = expression.value - target
    result = Result(expression.value, tuple(rest), round(abs(float(away)), 9))
    if not away:
        return f"{expression.text} = {target}, the target.", result
    said = f"{abs(away)} too {'high' if away > 0 else 'low'}"
    unused = ", ".join(map(str, rest)) or "none"
    return f"{expression.text} = {expression.value}, {said}. Unused: {unused}.", result


@lru_cache(maxsize=1024)
def list_expressions(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the listed expressions: the first numbers in order, with every choice of operators.

    They depend on the numbers only, so they reveal nothing about the solutions.
    """
    first, *further = map(str, numbers[:_CHAINED])
    return tuple(
        " ".join([first, *[f"{sign} {n}" for sign, n in zip(signs, further, strict=True)]])
        for signs in product("+-*/", repeat=len(further))
    )


class ExpressionReader(ActionReader):
    """Reads the whole body as one expression; actions are those listed, then those read."""

    free = FreeText("", "", LONGEST)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        super().__init__((), EXAMPLE)
        self.actions = list_expressions(numbers)

    def _parse(self, body: str) -> Parsed:
        text = plain(body)
        is_example = text.upper() == EXAMPLE
        if is_example or not text:
            return Parsed(True, (), actions_valid=False, is_example=is_example)
        if text not in self._index:
            if text not in self.actions:
                self.actions = (*self.actions, text)
            self._index[text] = self.actions.index(text)
        return Parsed(True, (self._index[text],), actions_valid=True, is_example=False)
