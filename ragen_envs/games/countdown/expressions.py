"""Expressions: read from any text in one pass, and worked out exactly, without `eval`.

An expression is made of whole numbers, + - * / and parentheses; * and / come before + and -, and
equal ones go from the first to the last. There are no signs, powers or decimal points.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from operator import add, mul, sub
from typing import NamedTuple, TypeAlias

Value: TypeAlias = int | Fraction
"""Exact; whole values are mostly ints, which are ten times as fast."""

LONGEST = 100
"""The maximum of characters in an expression."""
_LONGEST_NUMBER = 4
"""Digits."""
_OTHER_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-"}
)
_TOKEN = re.compile(r"[0-9]+|[-+*/()]")


def _quotient(a: Value, b: Value) -> Value:
    whole, rest = divmod(a, b)
    return Fraction(a) / b if rest else whole


_OPERATIONS: dict[str, tuple[int, Callable[[Value, Value], Value]]] = {
    "+": (1, add),
    "-": (1, sub),
    "*": (2, mul),
    "/": (2, _quotient),
}
"""Each with its precedence."""


class Expression(NamedTuple):
    """An expression that was read from a text.

    Attributes:
        text: the expression with single blanks around its signs.
        numbers: those that it holds, in order.
        value: exact; None if it divides by zero.
    """

    text: str
    numbers: tuple[int, ...]
    value: Value | None


def plain(body: str) -> str:
    """Return the start of a text as one line of printable ASCII.

    Other signs for the same operations become + - * /; any other non-ASCII character becomes a ?.
    """
    line = " ".join(body.translate(_OTHER_SIGNS).split())[:LONGEST].rstrip()
    return "".join([c if " " <= c <= "~" else "?" for c in line])


def expression_of(text: str) -> Expression | None:
    """Return the expression in a text; None if it is not an expression.

    The part after an equals sign is ignored. Linear in the length of the text, and total:
    any str is taken.
    """
    return _parse_expression(text) if len(text) <= LONGEST else None


@lru_cache(maxsize=4096)
def _parse_expression(whole: str) -> Expression | None:
    text, _, _ = whole.partition("=")
    tokens = _TOKEN.findall(text)
    # Blanks separate numbers. Characters outside any token are dropped.
    if not tokens or "".join(tokens) != "".join(text.split()):
        return None
    if any(len(token) > _LONGEST_NUMBER for token in tokens):
        return None
    return _Evaluator().evaluate(tokens)


class _Evaluator:
    """Works out tokens with two stacks, so that nesting costs no recursion."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._waiting: list[str] = []
        self._by_zero = False

    def evaluate(self, tokens: list[str]) -> Expression | None:
        """Return the expression of the tokens; None if they are not an expression."""
        written: list[str] = []
        numbers: list[int] = []
        after_value = False
        for token in tokens:
            if token in _OPERATIONS:
                if not after_value:
                    return None
                self._apply_operators(_OPERATIONS[token][0])
                self._waiting.append(token)
                written.append(f" {token} ")
                after_value = False
                continue
            if after_value != (token == ")"):
                return None
            if token == "(":
                self._waiting.append(token)
            elif token == ")":
                self._apply_operators(0)
                if not self._waiting:
                    return None
                self._waiting.pop()
            else:
                numbers.append(int(token))
                self._values.append(numbers[-1])
                after_value = True
            written.append(token)
        if not after_value:
            return None
        self._apply_operators(0)
        if self._waiting:
            return None
        value = None if self._by_zero else self._values[0]
        return Expression("".join(written), tuple(numbers), value)

    def _apply_operators(self, precedence: int) -> None:
        """Do the operations that wait since the last open parenthesis and bind at least so much."""
        while self._waiting and self._waiting[-1] != "(":
            bound, operation = _OPERATIONS[self._waiting[-1]]
            if bound < precedence:
                return
            sign = self._waiting.pop()
            second, first = self._values.pop(), self._values.pop()
            if sign == "/" and not second:
                self._by_zero = True
                second = 1
            self._values.append(operation(first, second))
