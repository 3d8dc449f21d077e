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
    """A parsed expression, with single blanks around its operators; no value if it divides by 0."""

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
    """Return the expression in a text before "=", or None; any str is read in linear time."""
    return _evaluate(text) if len(text) <= LONGEST else None


@lru_cache(maxsize=4096)
def _evaluate(whole: str) -> Expression | None:
    """Parse and evaluate an expression with two stacks, without recursion."""
    text, _, _ = whole.partition("=")
    tokens = _TOKEN.findall(text)
    # Blanks separate numbers. Characters outside any token are dropped.
    if "".join(tokens) != "".join(text.split()):
        return None
    if any(len(token) > _LONGEST_NUMBER for token in tokens):
        return None
    values: list[Value | None] = []
    waiting: list[str] = []
    after_value = False
    for token in tokens:
        if after_value != (token == ")" or token in _OPERATIONS):
            return None
        after_value = token not in _OPERATIONS and token != "("
        if token in _OPERATIONS:
            _apply_operators(values, waiting, _OPERATIONS[token][0])
        elif token == ")":
            _apply_operators(values, waiting, 0)
            if not waiting:
                return None
            waiting.pop()
            continue
        if token.isdigit():
            values.append(int(token))
        else:
            waiting.append(token)
    if not after_value:
        return None
    _apply_operators(values, waiting, 0)
    if waiting:
        return None
    written = "".join(f" {token} " if token in _OPERATIONS else token for token in tokens)
    return Expression(written, tuple(int(token) for token in tokens if token.isdigit()), values[0])


def _apply_operators(values: list[Value | None], waiting: list[str], precedence: int) -> None:
    """Apply pending operators of at least this precedence, back to the last parenthesis.

    A division by zero gives None, and so does any operation on it.
    """
    while waiting and waiting[-1] != "(" and _OPERATIONS[waiting[-1]][0] >= precedence:
        sign = waiting.pop()
        second, first = values.pop(), values.pop()
        if first is None or second is None or (sign == "/" and not second):
            values.append(None)
        else:
            values.append(_OPERATIONS[sign][1](first, second))
