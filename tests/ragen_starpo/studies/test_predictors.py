"""What tells success of an iteration, against ranks by hand."""

from pathlib import Path
from statistics import correlation

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.report.reading import TrainingRun
from ragen_starpo.studies.predictors import length_figures, predictor_figures

NOTHING = {"information_rank": None, "entropy_rank": None, "rank_gain": None}
RANKS = list(NOTHING)


def ranks_of(*lines):
    found = predictor_figures(run_of(*lines))
    return {name: found[name] for name in RANKS}


def run_of(*lines):
    metrics = [
        {
            "iteration": number,
            "rollout/success": success,
            "policy/entropy": entropy,
            **({} if information is None else {"thoughts/mutual_information": information}),
        }
        for number, (success, entropy, information) in enumerate(lines)
    ]
    return TrainingRun(Path("run"), {}, {}, metrics, [], [])


def test_information_that_rises_with_success_and_entropy_that_falls():
    lines = (0.1, 9.0, 0.0), (0.2, 5.0, 0.1), (0.5, 4.0, 2.0), (0.9, 1.0, 7.0)
    assert ranks_of(*lines) == {"information_rank": 1, "entropy_rank": -1, "rank_gain": 2}


def test_iterations_without_thoughts_do_not_count():
    measured = [(0.1, 1.0, 0.3), (0.2, 2.0, 0.2), (0.3, 3.0, 0.1), (0.4, 4.0, 0.0)]
    found = ranks_of((0.9, 0.0, None), *measured, (0.0, 9.0, None))
    assert found == {"information_rank": -1, "entropy_rank": 1, "rank_gain": -2}
    assert ranks_of((0.9, 0.0, None), *measured[:3]) == NOTHING


@pytest.mark.parametrize("constant", range(3))
def test_what_never_changes_tells_nothing(constant):
    lines = [[number / 8, number / 8, number / 8] for number in range(6)]
    for line in lines:
        line[constant] = 0.5
    assert ranks_of(*lines) == NOTHING


def ranks(values):
    """By counting: those below, and half of those that are equal."""
    return [
        sum(other < value for other in values) + sum(other == value for other in values) / 2
        for value in values
    ]


def test_where_information_ends():
    lines = [(0.5, 1.0, float(level)) for level in range(7)]
    assert predictor_figures(run_of(*lines, (0.5, 1.0, None)))["information_last"] == 4
    assert predictor_figures(run_of(*lines[:4]))["information_last"] is None


SHARES = st.lists(
    st.tuples(*[st.integers(0, 5).map(lambda count: count / 8) for _ in range(3)]),
    min_size=4,
    max_size=12,
).filter(lambda lines: all(len(set(column)) > 1 for column in zip(*lines, strict=True)))


@given(SHARES)
def test_ranks_are_spearmans(lines):
    success, entropy, information = zip(*lines, strict=True)
    expected = [correlation(ranks(values), ranks(success)) for values in (information, entropy)]
    found = predictor_figures(run_of(*lines))
    assert found["information_rank"] == pytest.approx(expected[0])
    assert found["entropy_rank"] == pytest.approx(expected[1])
    assert found["rank_gain"] == pytest.approx(expected[0] - expected[1])


def lengths_of(*characters):
    metrics = [{"rollout/think_characters": length} for length in characters]
    return length_figures(TrainingRun(Path("run"), {}, {}, metrics, [], []))


def test_how_long_thoughts_are_at_first_and_at_last():
    assert lengths_of(60, 61, 62, 63, 64, 500, 10, 20, 30, 40, 50) == {
        "thought_length_start": 62,
        "thought_length_last": 30,
        "thought_length_fall": 32,
    }


def test_rollouts_without_thoughts_and_short_runs_have_no_length():
    assert lengths_of(*[0] * 9) == {}
    assert lengths_of(9, 9, 9, 9) == {}
