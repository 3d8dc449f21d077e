"""Sentences: where they end, and that finding their ends is linear."""

import re
from re._constants import MAXREPEAT, POSSESSIVE_REPEAT
from re._parser import SubPattern, parse

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.claims import _END, split_sentences

BY_BACKTRACKING = re.compile(r"[.!?;\n]+(?:\s|$)|\n")
"""The rule in its shortest form, which is quadratic in a run of marks."""


@given(st.text(st.sampled_from(".!?;\n \t\rx"), max_size=40))
def test_sentences_end_as_the_rule_says(thought):
    parts = (" ".join(part.split()) for part in BY_BACKTRACKING.split(thought))
    assert list(split_sentences(thought)) == [part for part in parts if part]


@given(st.text(st.sampled_from(".!?;\n \rx"), max_size=40), st.integers(0, 40))
def test_a_run_of_marks_is_looked_at_once_from_its_beginning(thought, start):
    if _END.match(thought, start):
        assert start == 0 or thought[start - 1] not in ".!?;\n"


def repeats(pattern):
    """Yield the operators of a parsed pattern's repeats that have no upper bound."""
    if isinstance(pattern, list | tuple | SubPattern):
        parts = list(pattern)
        if str(parts[0] if parts else "").endswith("_REPEAT") and parts[1][1] is MAXREPEAT:
            yield parts[0]
        for part in parts:
            yield from repeats(part)


def test_no_part_of_a_run_is_tried_twice():
    # With the test above, the work is linear in the text: what is possessive gives nothing back.
    assert set(repeats(parse(_END.pattern))) == {POSSESSIVE_REPEAT}
    assert POSSESSIVE_REPEAT not in set(repeats(parse(BY_BACKTRACKING.pattern)))
