"""The metrics of a run, against values worked out by hand and the definitions."""

import json
from pathlib import Path
from statistics import correlation, fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.report import TrainingRun
from ragen_starpo.studies.run_metrics import (
    compare_failures,
    find_lasting_fall,
    find_lasting_rise,
    measure_collapse,
    measure_information,
    measure_rollouts,
    measure_thought_length,
    measure_thoughts,
    measure_training,
)

METRICS = [
    {
        "iteration": number,
        "rollout/success": success,
        "rollout/environment_turns": 10,
        "rollout/generated_tokens": 100,
        "trained_tokens": 50,
    }
    for number, success in enumerate([0.2, 0.4, 0.6, 0.8, 1.0, 0.2, 0.2, 0.2, 0.2, 0.0])
]
METRICS[4]["val/success"] = 0.7
METRICS[9]["val/success"] = 0.1
TIMINGS = [{"iteration": number, "rollouts": 0.5, "updates": 1.0} for number in range(10)]
RUN = TrainingRun(Path("run"), {}, {"val/success": 0.3}, METRICS, TIMINGS, [])


def test_figures():
    assert measure_training(RUN, 0.6) == {
        "start": 0.3,
        "best": 0.7,
        "last": 0.1,
        "rise": pytest.approx(0.4),
        "gain": pytest.approx(-0.2),
        "fall": pytest.approx(0.6),
        **measure_rollouts(RUN),
        **measure_collapse(RUN),
        **measure_information(RUN),
        "trained_tokens": 500.0,
        "generated_tokens": 1000.0,
        "environment_turns": 100.0,
        "seconds": 15.0,
        "tokens_to_target": 250.0,
    }


def test_what_a_run_never_reached_or_measured_it_lacks():
    assert measure_training(RUN, 0.8)["tokens_to_target"] is None
    assert measure_training(RUN, None)["tokens_to_target"] is None
    assert measure_training(RUN, 0.3)["tokens_to_target"] == 0
    unmeasured = TrainingRun(Path("run"), {}, {}, METRICS[:4], TIMINGS[:4], [])
    figures = measure_training(unmeasured, 0.6)
    assert [figures[name] for name in ("start", "best", "last", "rise", "gain", "fall")] == [
        None
    ] * 6


def analysis(*environments):
    rows = [
        {"reasoning": {"plans": {"agreement": agreement}, "claims": {"truth": truth}}}
        for agreement, truth in environments
    ]
    return json.dumps({"envs": rows})


def test_figures_of_thoughts_are_means_over_the_environments_that_have_them(tmp_path):
    assert measure_thoughts(tmp_path) == {}
    for folder, environments in {
        "before": [(0.5, None), (1.0, 0.25)],
        "test": [(0.25, None), (None, 0.75)],
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "analysis.json").write_text(analysis(*environments))
    assert measure_thoughts(tmp_path) == {
        "agreement_start": 0.75,
        "agreement": 0.25,
        "agreement_gain": -0.5,
        "truth_start": 0.25,
        "truth": 0.75,
        "truth_gain": 0.5,
    }
    (tmp_path / "test/analysis.json").write_text(analysis((None, 0.75)))
    figures = measure_thoughts(tmp_path)
    assert (figures["agreement"], figures["agreement_gain"]) == (None, None)


SUCCESS = [0.2, 0.4, 0.6, 0.8, 1.0, 0.2, 0.2, 0.2, 0.2, 0.0]
DEVIATION = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def run_of(success, warned=(), entropy=None):
    metrics = [
        {"iteration": number, "rollout/success": value, "rollout/reward_deviation": deviation}
        for number, (value, deviation) in enumerate(zip(success, DEVIATION, strict=True))
    ]
    for number, value in (entropy or {}).items():
        metrics[number]["policy/entropy"] = value
    warnings = [{"iteration": number} for number in warned]
    return TrainingRun(Path("run"), {}, {}, metrics, [], warnings)


def test_what_fell_and_warned_before_a_collapse():
    # Averages of five from iteration 4 on. Success: 0.6, 0.6, 0.56, 0.48, 0.36, 0.16; deviation:
    # 1.0, 0.8, 0.6, 0.4, 0.2, 0.0; entropy, as it was where it is lacking: 1 until 5, then 0.
    figures = measure_collapse(run_of(SUCCESS, (3, 5), {0: 1.0, 6: 0.0}))
    assert figures == {
        "collapsed": 1.0,
        "collapse_iteration": 9.0,
        "warned": 1.0,
        "warning_right": 1.0,
        "warning_lead": 6.0,
        "deviation_lead": 2.0,
        "entropy_lead": 1.0,
        "gradient_lead": -1.0,
    }


@pytest.mark.parametrize(
    ("values", "iteration"),
    [
        # Averages of five: 1, 1.4, 1.8, 2.2.
        ([1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0], 7),
        # ..., 2.6, 2.2, 1.8: not for good.
        ([1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0], None),
        ([1.0] * 9, None),
        ([0.0] * 5 + [1.0] * 5, None),
        ([1.0, 9.0], None),
    ],
)
def test_a_lasting_rise_to_twice_the_first_average(values, iteration):
    assert find_lasting_rise(values) == iteration


def test_success_of_rollouts_by_averages_of_five():
    success = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 0.6, 0.2, 0.2, 0.0]
    # 0.4, 0.6, 0.68, 0.64, 0.56, 0.4
    assert measure_rollouts(run_of(success)) == {
        "rollouts_start": pytest.approx(0.4),
        "rollouts_best": pytest.approx(0.68),
        "rollouts_last": pytest.approx(0.4),
        "rollouts_rise": pytest.approx(0.28),
        "rollouts_mean": pytest.approx(0.4),
    }
    short = run_of(SUCCESS)
    del short.metrics[4:]
    assert set(measure_rollouts(short).values()) == {None}


@pytest.mark.parametrize(
    ("success", "warned", "figures"),
    [
        (SUCCESS, (), (1.0, 9.0, 0.0, 0.0, -1.0)),
        (SUCCESS, (9,), (1.0, 9.0, 1.0, 1.0, 0.0)),
        ([0.5] * 10, (9,), (0.0, 10.0, 1.0, 0.0, None)),
        ([0.5] * 10, (), (0.0, 10.0, 0.0, 1.0, None)),
    ],
)
def test_a_warning_is_right_where_a_collapse_follows(success, warned, figures):
    names = ("collapsed", "collapse_iteration", "warned", "warning_right", "warning_lead")
    of_run = measure_collapse(run_of(success, warned))
    assert tuple(of_run[name] for name in names) == figures
    # It never had an entropy.
    assert of_run["entropy_lead"] == (None if figures[0] == 0 else -1.0)


@given(st.lists(st.integers(0, 4).map(lambda count: count / 4), max_size=24))
def test_a_lasting_fall_begins_where_half_is_lost_for_good(values):
    averages = {number: fmean(values[number - 4 : number + 1]) for number in range(4, len(values))}
    peak = max(averages.values(), default=0.0)
    lasting = [
        number
        for number in averages
        if peak and all(later <= peak / 2 for at, later in averages.items() if at >= number)
    ]
    assert find_lasting_fall(values) == min(lasting, default=None)


NOTHING = {"information_rank": None, "entropy_rank": None, "rank_gain": None}
RANKS = list(NOTHING)


def ranks_of(*lines):
    found = measure_information(run_of_lines(*lines))
    return {name: found[name] for name in RANKS}


def run_of_lines(*lines):
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
    assert measure_information(run_of_lines(*lines, (0.5, 1.0, None)))["information_last"] == 4
    assert measure_information(run_of_lines(*lines[:4]))["information_last"] is None


SHARES = st.lists(
    st.tuples(*[st.integers(0, 5).map(lambda count: count / 8) for _ in range(3)]),
    min_size=4,
    max_size=12,
).filter(lambda lines: all(len(set(column)) > 1 for column in zip(*lines, strict=True)))


@given(SHARES)
def test_ranks_are_spearmans(lines):
    success, entropy, information = zip(*lines, strict=True)
    expected = [correlation(ranks(values), ranks(success)) for values in (information, entropy)]
    found = measure_information(run_of_lines(*lines))
    assert found["information_rank"] == pytest.approx(expected[0])
    assert found["entropy_rank"] == pytest.approx(expected[1])
    assert found["rank_gain"] == pytest.approx(expected[0] - expected[1])


def lengths_of(*characters):
    metrics = [{"rollout/think_characters": length} for length in characters]
    return measure_thought_length(TrainingRun(Path("run"), {}, {}, metrics, [], []))


def test_how_long_thoughts_are_at_first_and_at_last():
    assert lengths_of(60, 61, 62, 63, 64, 500, 10, 20, 30, 40, 50) == {
        "thought_length_start": 62,
        "thought_length_last": 30,
        "thought_length_fall": 32,
    }


def test_rollouts_without_thoughts_and_short_runs_have_no_length():
    assert lengths_of(*[0] * 9) == {}
    assert lengths_of(9, 9, 9, 9) == {}


def row(env, **labels):
    failures = [{"label": label, "episodes": count} for label, count in labels.items()]
    return {"env": env, "failed": sum(labels.values()), "failures": failures}


def test_the_smaller_shares_of_each_label_are_what_two_environments_have_in_common():
    first = row("a", deadlock=6, out_of_budget=2)
    others = [row("b", out_of_budget=3, deadlock=1), row("c", fell_unlucky=5), row("d", deadlock=1)]
    assert compare_failures([first, *others]) == {
        "failures_alike": pytest.approx((0.5 + 0.0 + 0.75) / 3),
        "failures_alike/b": 0.5,
        "failures_alike/c": 0.0,
        "failures_alike/d": 0.75,
    }


def test_an_agent_that_never_fails_has_nothing_to_compare():
    found = compare_failures([row("a", deadlock=1), row("b"), row("c", deadlock=2)])
    assert found == {"failures_alike": None, "failures_alike/b": None, "failures_alike/c": 1.0}
    assert compare_failures([row("a"), row("c", deadlock=2)])["failures_alike/c"] is None
    assert compare_failures([row("a", deadlock=1)]) == {}
