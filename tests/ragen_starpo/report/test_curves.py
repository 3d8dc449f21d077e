"""Curves: every figure, its moving median, and gaps where it was not measured."""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.report.curves import (
    ROUNDING,
    Checkpoints,
    find_checkpoints,
    group_metrics,
    list_held_out,
    make_curve,
)

from .runs import ENVS, metrics


@given(
    st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=30),
    st.integers(1, 7),
)
def test_a_curve_is_what_was_measured(values, window):
    lines = [
        {"iteration": number} if value is None else {"iteration": number, "a/b": value}
        for number, value in enumerate(values)
    ]
    found = make_curve(lines, "a/b", window)
    finite = [(n, v) for n, v in enumerate(values) if v is not None and math.isfinite(v)]
    if all(float(v).is_integer() for _, v in finite):
        pass
    elif all(abs(v) <= ROUNDING for _, v in finite):
        finite = [(n, 0.0) for n, _ in finite]
    elif max(v for _, v in finite) - min(v for _, v in finite) <= ROUNDING * max(
        abs(v) for _, v in finite
    ):
        finite = [(n, finite[-1][1]) for n, _ in finite]
    assert found.name == "b"
    assert found.points == finite
    assert len(found.smooth) == max(0, len(finite) - window + 1)
    for place, (number, value) in enumerate(found.smooth):
        part = finite[place : place + window]
        assert number == part[-1][0]
        assert value == median(v for _, v in part)
    assert found.low < found.high
    assert all(found.low <= value <= found.high for _, value in finite)


@pytest.mark.parametrize(
    ("values", "drawn", "axis"),
    [
        ([1.3e-17, -2.1e-17, 0.0], [0.0] * 3, (0.0, 1.0)),
        ([-4e-9, ROUNDING, 7e-8], [0.0] * 3, (0.0, 1.0)),
        ([-4e-9, 1.2e-7, 7e-8], [-4e-9, 1.2e-7, 7e-8], (-4e-9, 1.2e-7)),
        ([0.3, 0.1 + 0.2, 0.3], [0.3] * 3, (0.0, 0.6)),
        ([0.3, 0.3 + 1e-7, 0.3], [0.3, 0.3 + 1e-7, 0.3], (0.3, 0.3 + 1e-7)),
    ],
)
def test_what_only_rounding_moves_is_drawn_as_still(values, drawn, axis):
    lines = [{"iteration": n, "a/b": v, "a/lr": v} for n, v in enumerate(values)]
    found = make_curve(lines, "a/b", 3)
    assert [value for _, value in found.points] == drawn
    assert found.smooth == [(2, median(drawn))]
    assert (found.low, found.high) == axis
    # A learning rate is exact, and may be as small.
    assert [value for _, value in make_curve(lines, "a/lr", 3).points] == values


@pytest.mark.parametrize(
    ("key", "values", "as_it_is"),
    [
        ("policy/kl_from_reference", [0.0, 1e-9, 9e-8], True),
        ("policy/kl_from_reference", [-1e-9, 1e-9, 9e-8], False),
        ("policy/kl_from_rollouts", [0.0, 1e-9, 9e-8], False),
        ("trained_tokens", [10_000_000, 10_000_001], True),
        ("trained_tokens", [10_000_000.5, 10_000_001.0], False),
    ],
)
def test_squares_and_counts_are_drawn_as_they_are(key, values, as_it_is):
    found = make_curve([{"iteration": n, key: v} for n, v in enumerate(values)], key, 3)
    assert ([value for _, value in found.points] == values) == as_it_is


def test_every_figure_is_in_one_group():
    lines = metrics()
    found = group_metrics(lines, 5)
    assert [one.name for one in found] == ["rollout", "policy", "filter", "training"]
    keys = [key for one in found for key in one.keys]
    named = {name for line in lines for name in line}
    assert len(keys) == len(set(keys))
    assert set(keys) == {n for n in named if n != "iteration" and not n.startswith("val/")}
    assert found[-1].keys == ["steps", "trained_tokens"]


def test_held_out_success_has_its_interval():
    found = list_held_out(metrics(40))
    assert tuple(one.name for one in found) == ENVS
    assert [point[0] for point in found[0].points] == [19, 39]
    for _, share, low, high in found[0].points:
        assert share - low == pytest.approx(0.12)
        assert high - share == pytest.approx(0.12)
    assert list_held_out(metrics(10)) == []


def test_a_validation_that_is_not_a_number_is_not_the_best():
    lines = [{"iteration": n, "val/success": s} for n, s in enumerate((math.nan, 0.5, 0.25))]
    assert find_checkpoints(lines, {"val/success": math.nan}) == Checkpoints((1, 0.5), (2, 0.25))
