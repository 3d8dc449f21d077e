"""Expressions: parsed from any text in one pass, and evaluated exactly, without `eval`.

An expression is made of whole numbers, + - * / and parentheses; * and / come before + and -, and
operators of equal precedence apply from left to right. Signs, powers and decimal points are
not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from operator import add, mul, sub
from typing import NamedTuple, TypeAlias

Value: TypeAlias = int | Fraction
"""An exact value; whole values are mostly ints, which are ten times as fast."""

LONGEST = 100
"""Maximum characters in an expression."""
_LONGEST_NUMBER = 4
"""Maximum digits of a number."""
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
"""Precedence and function of each operator."""


class Expression(NamedTuple):
    """A parsed expression.

    Attributes:
        text: Expression with single blanks around its operators.
        numbers: Numbers of the expression, in order.
        value: Exact value; None if it divides by zero.
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

    The part after an equals sign is ignored. Any str is accepted, in linear time.
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
    """Evaluates tokens with two stacks, without recursion."""

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
        """Apply pending operators of at least this precedence, back to the last parenthesis."""
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
