"""Episodes without an end, with an end that only a wrapper sets, and ends of the process."""

import dataclasses
import sys
from itertools import count

import gymnasium
import pytest
from gymnasium.wrappers import TimeLimit
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from ragen_envs.testing import (
    CheckFailed,
    CheckSkipped,
    check_episode_ends,
    check_gymnasium_checker,
    check_oracle_reaches_ceiling,
    check_step_after_end,
    run_checks,
    text_env_machine,
)
from tests.ragen_envs.testing.lamps import TURNS, LampEnv, subject_of
from tests.ragen_envs.testing.test_strategies_machine import QUICK

LIMIT = 3


class Endless(LampEnv):
    """Nothing ends an episode but a limit of somebody else."""

    length = None

    def step(self, answer):
        self.demand_running()
        self.turn += 1
        over = self.turn == self.length
        return self.text("on."), float(over), over, False, self.info()

    def info(self):
        return {"score": float(self.turn == self.length), "ceiling": 1.0}


class Walk(Endless):
    """The episode is won after more turns than the kit plays unasked."""

    length = 150


class GoesOn(LampEnv):
    """It counts its turns, and takes steps after the last one."""

    def demand_running(self):
        if not hasattr(self, "path"):
            super().demand_running()

    def play(self, answer):
        return super().play(answer) if self.running else "it is over."


def limited(cls, limit):
    return lambda: TimeLimit(cls(), limit)


def wrapped(cls, limit):
    return lambda: gymnasium.wrappers.OrderEnforcing(TimeLimit(cls(), limit))


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [limited, wrapped])
def test_an_end_of_gymnasiums_time_limit_alone_is_none_to_be_refused(wrap):
    subject = subject_of(wrap(Endless, LIMIT), max_turns=None, oracle=None)
    check_episode_ends(subject_of(wrap(Endless, LIMIT), max_turns=LIMIT, oracle=None))
    with pytest.raises(CheckSkipped, match="Gymnasium's TimeLimit alone ended the episodes"):
        check_step_after_end(subject)
    fewer = settings(QUICK, max_examples=50)  # each reaches the limit
    run_state_machine_as_test(text_env_machine(subject), settings=fewer)


def test_the_oracles_end_is_looked_at_where_the_others_are_the_limits():
    subject = subject_of(
        limited(GoesOn, TURNS - 1), oracle=lambda env: env.unwrapped.path[env.unwrapped.door]
    )
    with pytest.raises(
        (CheckFailed, CheckSkipped), match=r"after the end, step\(.*\) was accepted"
    ):
        check_step_after_end(subject)
    with pytest.raises(CheckSkipped, match="TimeLimit alone"):
        check_step_after_end(dataclasses.replace(subject, oracle=None))


@pytest.mark.parametrize("limit", [TURNS, TURNS + 1])
def test_an_end_of_the_environment_is_looked_at_within_a_time_limit(limit):
    check_step_after_end(subject_of(limited(LampEnv, limit), oracle=None))
    with pytest.raises(CheckFailed, match=r"after the end, step\(.*\) was accepted"):
        check_step_after_end(subject_of(wrapped(GoesOn, limit), oracle=None))


def test_without_a_stated_limit_the_oracle_is_not_blamed_for_long_episodes():
    walk = {"oracle": lambda env: "on", "stochastic": False, "noise_options": None}
    with pytest.raises(
        CheckSkipped, match="'max_turns': the oracle's episode of seed 0 goes on after 100 turns"
    ):
        check_oracle_reaches_ceiling(subject_of(Walk, **walk, max_turns=None))
    check_oracle_reaches_ceiling(subject_of(Walk, **walk, max_turns=150))
    with pytest.raises(CheckFailed, match="the oracle scored 0 where the ceiling is 1"):
        check_oracle_reaches_ceiling(subject_of(Walk, **walk, max_turns=149))
    with pytest.raises(CheckSkipped, match="after 100 turns"):
        check_oracle_reaches_ceiling(
            subject_of(Walk, **{**walk, "stochastic": True}, max_turns=None, oracle_episodes=4)
        )


class QuitsOnNothing(LampEnv):
    def play(self, answer):
        if answer == "":
            raise SystemExit(0)  # other packages replace sys.exit
        return super().play(answer)


class QuitsAfterTheEnd(LampEnv):
    def demand_running(self):
        if not self.running:
            sys.exit("call reset() first")


@pytest.mark.slow
def test_a_game_that_ends_the_process_fails_and_the_others_are_looked_at():
    outcomes = run_checks(subject_of(QuitsOnNothing))
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert [outcome.name for outcome in failed] == ["hostile_text"]
    assert "step('') raised SystemExit: 0 (test_ends.py:" in failed[0].message
    outcomes = run_checks(subject_of(QuitsAfterTheEnd))
    failed = [outcome.name for outcome in outcomes if outcome.status == "failed"]
    assert failed == ["step_before_reset", "step_after_end"]


def quits():
    sys.exit(7)


def test_a_factory_that_ends_the_process_fails():
    with pytest.raises(CheckFailed, match="SystemExit: 7"):
        check_gymnasium_checker(subject_of(quits))
    calls = count()

    class QuitsLater(LampEnv):
        def step(self, answer):
            return sys.exit(8) if next(calls) else super().step(answer)

    with pytest.raises(CheckFailed, match=r"check_env: .*8"):
        check_gymnasium_checker(subject_of(QuitsLater))
