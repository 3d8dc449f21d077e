"""What warnings change, and what they leave as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.diagnostics.monitor import AdaptableSettings, Adaptation, TrapWarning, adapt
from ragen_starpo.recipes.run_sections import MonitorSettings

BEFORE = AdaptableSettings(temperature=0.8, updates=4, refills=1)


def monitor(**changed):
    return MonitorSettings(**{"action": "adapt", **changed})


def warning(number):
    return TrapWarning(number, "early", {}, "Early.")


@given(st.floats(1.01, 3), st.floats(0.81, 4), st.booleans(), st.integers(0, 12))
def test_each_warning_raises_the_temperature_up_to_the_limit(factor, limit, single, count):
    settings = {"temperature_factor": factor, "temperature_limit": limit, "single_update": single}
    run = Adaptation(monitor(**settings), BEFORE)
    for number in range(count):
        run.take(warning(number))
    assert run.settings.temperature == pytest.approx(min(0.8 * factor**count, limit))
    assert run.settings.updates == (1 if single and count else 4)
    assert run.metrics() == {
        "rollout/temperature": run.settings.temperature,
        "updates": run.settings.updates,
    }


def test_a_warning_says_what_it_changed():
    run = Adaptation(monitor(temperature_factor=1.25, temperature_limit=1.1), BEFORE)
    first, second, third = (run.take(warning(number)) for number in (7, 9, 12))
    assert first.changes == {
        "rollouts.temperature": {"from": 0.8, "to": 1.0},
        "updates": {"from": 4, "to": 1},
    }
    assert first.text == (
        "Early. From iteration 8 on, rollouts.temperature is 1 instead of 0.8 and updates is 1 "
        "instead of 4."
    )
    assert second.changes == {"rollouts.temperature": {"from": 1.0, "to": 1.1}}
    assert third.changes == {}
    assert third.text == "Early. From iteration 13 on, no setting can change further."


def test_a_temperature_above_the_limit_stays():
    assert adapt(BEFORE, monitor(temperature_limit=0.5)).temperature == 0.8


@pytest.mark.parametrize(("rounds", "after"), [(0, 1), (1, 1), (3, 3)])
def test_a_warning_raises_the_rounds_of_refills(rounds, after):
    run = Adaptation(monitor(refills=rounds), BEFORE)
    assert run.take(warning(2)).changes.get("rollouts.refills", {"to": 1})["to"] == after
    assert run.settings.refills == after
    assert run.metrics().get("refills") == (after if rounds else None)


@pytest.mark.parametrize("action", ["none", "stop"])
def test_other_actions_change_nothing(action):
    run = Adaptation(monitor(action=action), BEFORE)
    assert run.take(warning(3)) == warning(3)
    assert run.settings == BEFORE
    assert run.metrics() == {}
