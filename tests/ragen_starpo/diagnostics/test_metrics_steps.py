"""Figures of an iteration, made of those of its steps."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.diagnostics.metrics import StepMetrics


def means(*steps):
    found = StepMetrics()
    for figures, tokens in steps:
        found.add(figures, tokens)
    return found.means()


def test_means_of_tokens_are_weighted_by_tokens_and_those_of_steps_are_not():
    first = {"policy/entropy": 1.0, "policy/loss": 5.0, "policy/grad_norm": 2.0, "critic/lr": 0.1}
    second = {"policy/entropy": 4.0, "policy/loss": 7.0, "policy/grad_norm": 4.0, "critic/lr": 0.3}
    assert means((first, 30), (second, 10)) == {
        "policy/entropy": pytest.approx(1.75),
        "policy/loss": pytest.approx(6.0),
        "policy/grad_norm": pytest.approx(3.0),
        "policy/skipped_steps": 0,
        "critic/lr": pytest.approx(0.2),
    }


values = st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 9)), min_size=1, max_size=6)


@given(values)
def test_a_figure_of_tokens_is_that_of_all_tokens_at_once(steps):
    tokens = [value for value, count in steps for _ in range(count)]
    found = means(*(({"policy/kl": value}, count) for value, count in steps))
    assert found["policy/kl"] == pytest.approx(sum(tokens) / len(tokens), abs=1e-9)


@pytest.mark.parametrize("broken", [math.inf, math.nan])
def test_a_step_that_was_not_taken_is_counted_and_in_no_mean(broken):
    sound = {"policy/grad_norm": 2.0, "policy/loss": 1.0}
    skipped = {"policy/grad_norm": broken, "policy/loss": broken}
    found = means((sound, 3), (skipped, 1), (sound, 2))
    assert found == {"policy/grad_norm": 2.0, "policy/loss": 1.0, "policy/skipped_steps": 1}
    nothing = means((skipped, 3))
    assert nothing == {"policy/skipped_steps": 1}
    json.dumps(nothing, allow_nan=False)
