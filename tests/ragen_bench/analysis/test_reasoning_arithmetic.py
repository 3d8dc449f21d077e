"""Sums in thoughts, judged as a person would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis import analyse
from ragen_bench.analysis.reasoning import claims_of_arithmetic
from ragen_bench.runs.directory import RunDirectory
from tests.ragen_bench.analysis.support import config, record


def judged(thought):
    found = claims_of_arithmetic(thought)
    return [(claim.text, claim.true) for claim in found.read], found.unread


@pytest.mark.parametrize(
    ("thought", "read", "unread"),
    [
        ("I try 3 * 8 = 24.", [("3 * 8 = 24", True)], 0),
        ("3*8=25, so no. Then 25 - 1 = 24", [("3*8 = 25", False), ("25 - 1 = 24", True)], 0),
        ("So 3 \u00d7 (4 + 4) = 24!", [("3 \u00d7 (4 + 4) = 24", True)], 0),
        ("6 + 7 = 13 * 2 = 26", [("6 + 7 = 13 * 2", False), ("13 * 2 = 26", True)], 0),
        ("24 = 3 * 8", [("24 = 3 * 8", True)], 0),
        ("7/2 = 14/4 but 1/3 = 2/7", [("7/2 = 14/4", True), ("1/3 = 2/7", False)], 0),
        ("1 / (2 - 2) = 0", [("1 / (2 - 2) = 0", False)], 0),
        ("7 / 2 = 3.5", [], 1),
        ("3 - 8 = -5", [], 1),
        ("24 = 24. x = 5. Target = 60. We need 60 = 3 * something", [], 1),
        ("3 and 8 give 24 (I think).", [], 0),
        ("(" * 300 + " = 3", [], 1),
        ("", [], 0),
    ],
)
def test_sums_are_read_as_they_stand(thought, read, unread):
    assert judged(thought) == (read, unread)


@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from("+-*"), st.integers(0, 20))
def test_a_sum_is_true_where_python_says_so(a, b, sign, off):
    value = eval(f"{a} {sign} {b}") + off - 10
    ((_, true),), unread = judged(f"Let me see: {a} {sign} {b} = 0 + {max(value, 0)}.")
    assert true == (eval(f"{a} {sign} {b}") == max(value, 0))
    assert unread == 0


@given(st.text())
def test_any_thought_is_read(thought):
    claims_of_arithmetic(thought)


def test_an_analysis_counts_them(tmp_path):
    run = RunDirectory(tmp_path, config("think"))
    answers = ["<think>6 * 7 = 42, 840 / 14 = 61.</think><answer>6*7*20/14</answer>"]
    run.append(record("Countdown", 0, answers, form="think"))
    (row,) = analyse(run)["envs"]
    assert row["reasoning"]["claims"] == {
        **{"true": 1, "false": 1, "unread": 0, "truth": 0.5},
        "elsewhere": {"true": 0, "false": 0, "truth": None},  # a sum is true beside every instance
    }
