"""Sentences: where they end, and that finding their ends is linear."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.words import sentences

BY_BACKTRACKING = re.compile(r"[.!?;\n]+(?:\s|$)|\n")
"""The rule in its shortest form, which is quadratic in a run of marks."""


@given(st.text(st.sampled_from(".!?;\n \t\rx"), max_size=40))
def test_sentences_end_as_the_rule_says(thought):
    parts = (" ".join(part.split()) for part in BY_BACKTRACKING.split(thought))
    assert list(sentences(thought)) == [part for part in parts if part]


def seconds(thought):
    """CPU time of the fastest of several readings."""

    def once():
        start = time.process_time()
        for _ in range(20):
            list(sentences(thought))
        return time.process_time() - start

    return min(once() for _ in range(5))


@pytest.mark.parametrize("run", [".", "\n", ".\n", "?!\n;", ":\n", ": ", ". "])
def test_eight_times_the_text_costs_about_eight_times_as_much(run):
    small, large = ((run * length)[: length - 1] + "x" for length in (500, 4_000))
    assert seconds(large) < 24 * seconds(small)  # 64 times, if it were quadratic
