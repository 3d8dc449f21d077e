"""Costs against sums that are made another way."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragen_starpo.diagnostics.cost import list_milestones, sum_cost

COUNT = st.integers(0, 10**6)
SECONDS = st.floats(0.001, 1000)


@st.composite
def runs(draw):
    """Metrics and timings of a run; some iterations learn, some are validated."""
    metrics, timings = [], []
    for number in range(draw(st.integers(1, 12))):
        turns, generated, trained = draw(st.tuples(COUNT, COUNT, COUNT))
        line = {"iteration": number, "rollout/environment_turns": turns}
        line["rollout/generated_tokens"] = generated
        time = {"iteration": number, "rollouts": draw(SECONDS)}
        if draw(st.booleans()):
            line["trained_tokens"] = trained
            time["updates"] = draw(SECONDS)
        if draw(st.booleans()):
            line["val/success"] = draw(st.integers(0, 20)) / 20
            time["validation"] = draw(SECONDS)
        metrics.append(line)
        timings.append(time)
    return metrics, timings


@given(runs())
def test_totals_are_sums(run):
    metrics, timings = run
    found = sum_cost(metrics, timings)
    assert found.environment_turns == sum(one["rollout/environment_turns"] for one in metrics)
    assert found.generated_tokens == sum(one["rollout/generated_tokens"] for one in metrics)
    assert found.trained_tokens == sum(one.get("trained_tokens", 0) for one in metrics)
    for phase in ("rollouts", "updates", "validation"):
        assert found.seconds.get(phase, 0) == pytest.approx(sum(t.get(phase, 0) for t in timings))
    assert found.all_seconds == pytest.approx(
        sum(sum(t.values()) - t["iteration"] for t in timings)
    )
    rate = found.generated_per_second
    assert rate == pytest.approx(found.generated_tokens / sum(t["rollouts"] for t in timings))
    assert (found.trained_per_second is None) == all("updates" not in t for t in timings)


@given(runs())
def test_a_point_costs_what_lies_between_two_validations(run):
    metrics, timings = run
    validated = [one for one in metrics if "val/success" in one]
    found = list_milestones(metrics, timings)
    assert [(one.iteration, one.success) for one in found] == [
        (one["iteration"], one["val/success"]) for one in validated
    ]
    assume(found)
    assert (found[0].gained, found[0].per_point) == (0, None)
    for one in found[1:]:
        between = [m for m in metrics if found[0].iteration < m["iteration"] <= one.iteration]
        gained = one.success * 100 - found[0].success * 100
        assert one.gained == pytest.approx(gained)
        assert (one.per_point is None) == (one.success <= found[0].success)
        if one.per_point:
            turns = sum(m["rollout/environment_turns"] for m in between)
            assert one.per_point["environment_turns"] * gained == pytest.approx(turns)
            trained = sum(m.get("trained_tokens", 0) for m in between)
            assert one.per_point["trained_tokens"] * gained == pytest.approx(trained)


def test_by_hand():
    metrics = [
        {"iteration": 0, "rollout/environment_turns": 10, "rollout/generated_tokens": 100},
        {"iteration": 1, "rollout/environment_turns": 10, "rollout/generated_tokens": 100}
        | {"trained_tokens": 50, "val/success": 0.25},
        {"iteration": 2, "rollout/environment_turns": 30, "rollout/generated_tokens": 400}
        | {"trained_tokens": 200, "val/success": 0.35},
    ]
    timings = [
        {"iteration": 0, "rollouts": 2.0},
        {"iteration": 1, "rollouts": 2.0, "updates": 1.0, "validation": 5.0},
        {"iteration": 2, "rollouts": 8.0, "updates": 4.0, "validation": 8.0},
    ]
    last = list_milestones(metrics, timings)[-1]
    assert last.gained == pytest.approx(10)
    assert last.per_point == pytest.approx(
        {"environment_turns": 3, "generated_tokens": 40, "trained_tokens": 20, "seconds": 2}
    )
    assert last.spent.generated_per_second == 50
    assert last.spent.trained_per_second == 50
    assert sum_cost([], []).generated_per_second is None
    assert sum_cost([], [{"iteration": 0, "waiting": 2.0}]).generated_per_second is None
