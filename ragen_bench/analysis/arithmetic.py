"""Arithmetic claims in a thought, such as "3 * 8 = 24", and whether they are true.

`ragen_envs.games.countdown.expressions` parses both sides. A chain "3 * 8 = 24 = 20 + 4" has two
claims. An equality with another side, such as a decimal number, is counted as unread. `7 = 7` is
not counted as a claim.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ragen_bench.analysis.claims import Claim, Claims
from ragen_bench.analysis.words import split_sentences
from ragen_envs.games.countdown.expressions import Expression, expression_of, plain

# One character class, so that matching takes linear time.
_RUN = re.compile(r"[-0-9+*/()=. \u00d7\u00b7\u22c5\u00f7\u2212\u2013]+")


def claims_of_arithmetic(thought: str) -> Claims:
    """Return the arithmetic claims of a thought."""
    read: list[Claim] = []
    unread = 0
    for sentence in split_sentences(thought):
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
    """Return whether two expressions are equal; a division by zero equals nothing."""
    return one.value is not None and one.value == other.value
