"""The texts of Countdown: its rules, the results of expressions, and how responses are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import inf
from typing import NamedTuple

from ragen_envs.core.protocol import ActionReader, FreeText, Parsed
from ragen_envs.core.wording import pluralize
from ragen_envs.games.countdown.expressions import LONGEST, Expression, Value, expression_of, plain
from ragen_envs.games.countdown.rules import remaining_numbers


class Result(NamedTuple):
    """The result of an expression.

    Attributes:
        value: The value; None if the text is not a usable expression.
        rest: Unused numbers, in order; () without a value.
        distance: Distance from the target, to nine digits; infinite without a value.
    """

    value: Value | None
    rest: tuple[int, ...] = ()
    distance: float = inf


EXAMPLE = "EXPRESSION"
_CHAINED = 4
"""Numbers in a listed expression; more would give too many expressions."""


def rules(count: int, turns: int) -> str:
    """Return the rules.

    Args:
        count: Number of numbers.
        turns: Maximum turns per episode.
    """
    return (
        f"You are playing Countdown: combine some of {count} numbers to give the target.\n"
        "Each turn, write one expression of whole numbers with +, -, *, / and parentheses. Each "
        "number may be used at most once for each time that it is listed, and need not be used.\n"
        "Values are exact. Fractions and numbers below zero are allowed on the way.\n"
        "You are told the value of each expression, how far it is from the target, and which "
        "numbers it did not use.\n"
        f"You have {pluralize(turns, 'turn')}."
    )


def render_deal(numbers: Sequence[int], target: int) -> str:
    """Return the line of the numbers and the target."""
    return f"Numbers: {', '.join(map(str, numbers))}. Target: {target}."


@lru_cache(maxsize=4096)
def evaluate(answered: str, numbers: tuple[int, ...], target: int) -> tuple[str, Result]:
    """Return the feedback on an expression, and its result.

    Args:
        answered: The text of the expression, as `plain` returns it.
        numbers: Numbers of the deal.
        target: The value to reach.
    """
    expression = expression_of(answered)
    if expression is None:
        return f"{answered}: it is no expression.", Result(None)
    wrong = _wrong(expression, numbers)
    if wrong or expression.value is None:
        return f"{expression.text}: {wrong}", Result(None)
    rest = remaining_numbers(numbers, expression.numbers)
    away = expression.value - target
    result = Result(expression.value, tuple(rest), round(abs(float(away)), 9))
    if not away:
        return f"{expression.text} = {target}, the target.", result
    said = f"{abs(away)} too {'high' if away > 0 else 'low'}"
    listed_rest = ", ".join(map(str, rest)) or "none"
    return f"{expression.text} = {expression.value}, {said}. Unused: {listed_rest}.", result


def _wrong(expression: Expression, numbers: tuple[int, ...]) -> str:
    """Return why an expression is unusable; "" if it is usable."""
    for number in expression.numbers:
        if expression.numbers.count(number) > numbers.count(number):
            more = "other " if number in numbers else ""
            return f"there is no {more}{number} to use."
    return "it divides by zero." if expression.value is None else ""


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
    """Reads the whole body of a response as one expression.

    Args:
        numbers: Numbers of the deal.

    Attributes:
        actions: Listed expressions, then those that were read, as returned by `plain`.
    """

    free = FreeText("", "", LONGEST)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        super().__init__((), EXAMPLE)
        self.actions = list_expressions(numbers)

    def _parse(self, body: str) -> Parsed:
        text = plain(body)
        is_example = text.upper() == EXAMPLE
        if is_example or not text:
            return Parsed(True, (), actions_valid=False, is_example=is_example)
        return Parsed(True, (self._place(text),), actions_valid=True, is_example=False)

    def _place(self, text: str) -> int:
        """Return the index of an expression in the actions; a new one is appended."""
        place = self._index.get(text)
        if place is None:
            try:
                place = self.actions.index(text)
            except ValueError:
                place = len(self.actions)
                self.actions = (*self.actions, text)
            self._index[text] = place
        return place
