"""Claims about sums: what a thought says that numbers give, "3 * 8 = 24", and whether it is true.

Equalities of expressions as `ragen_envs.games.countdown.expressions` reads them are judged, in
chains
too: "3 * 8 = 24 = 20 + 4" is two. Those of which a side is no such expression, as with decimal
points, are unread; a number that is said to be itself is no claim.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ragen_bench.analysis.claims import Claim, Claims
from ragen_bench.analysis.words import sentences
from ragen_envs.games.countdown.expressions import Expression, expression_of, plain

# One class of characters, so that each is looked at once.
_RUN = re.compile(r"[-0-9+*/()=. \u00d7\u00b7\u22c5\u00f7\u2212\u2013]+")


def claims_of_arithmetic(thought: str) -> Claims:
    """Return the equalities of a thought."""
    read: list[Claim] = []
    unread = 0
    for sentence in sentences(thought):
        for run in _RUN.findall(sentence):
            sides = [side.strip(" .") for side in run.split("=")]
            for left, right in pairwise(sides):
                if not left or not right:
                    continue
                one, other = expression_of(plain(left)), expression_of(plain(right))
                if one is None or other is None:
                    unread += 1
                elif len(one.numbers) + len(other.numbers) > 2:
                    read.append(Claim(f"{left} = {right}", left, right, _are_equal(one, other)))
    return Claims(tuple(read), unread)


def _are_equal(one: Expression, other: Expression) -> bool:
    """Tell whether two expressions have the same value; one that divides by zero has none."""
    return one.value is not None and one.value == other.value
