"""What the checks decide at their edges."""

import math
import warnings
from math import comb
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.testing import (
    CheckFailed,
    check_flags,
    check_gymnasium_checker,
    check_oracle_reaches_ceiling,
    check_reset_forgets,
    check_rewards,
    check_rollouts_differ_in_noise,
    check_seeds_matter,
    check_step_after_end,
    check_success,
)
from ragen_envs.testing.checks.oracle import tail
from tests.cases import first_fast
from tests.ragen_envs.testing.broken.determinism import HasOneLevel
from tests.ragen_envs.testing.lamps import CEILING, LampEnv, subject_of


@given(st.integers(1, 40), st.floats(0.01, 0.99), st.data())
def test_the_bound_is_above_the_exact_tail_of_a_binomial(count, chance, data):
    wins = data.draw(st.integers(0, count))
    far = range(wins, count + 1) if wins > count * chance else range(wins + 1)
    exact = sum(comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in far)
    assert exact <= tail(count, wins / count, chance) * (1 + 1e-9)


def test_the_bound_has_hoeffdings_values():
    assert tail(10, 1.0, 0.5) == pytest.approx(0.5**10)
    assert tail(10, 0.0, 0.25) == pytest.approx(0.75**10)
    assert tail(100, 0.6, 0.5) == pytest.approx(
        math.exp(-100 * (0.6 * math.log(1.2) + 0.4 * math.log(0.8)))
    )
    assert tail(7, 0.3, 0.3) == 1.0
    assert (tail(9, 0.9, 1.0), tail(9, 0.1, 0.0)) == (0.0, 0.0)


@pytest.mark.parametrize("off", first_fast([-0.25, 0.12]))
def test_a_ceiling_that_is_off_to_either_side_is_found(off):
    subject = subject_of(ceiling=CEILING + off, oracle_episodes=400)
    with pytest.raises(CheckFailed, match=f"mean ceiling is {CEILING + off:.4f}"):
        check_oracle_reaches_ceiling(subject)


def test_without_noise_the_ceiling_is_met_exactly_or_not():
    with pytest.raises(
        CheckFailed, match=r"seed \d: the oracle scored [01] where the ceiling is 0.85"
    ):
        check_oracle_reaches_ceiling(subject_of(stochastic=False))


def test_a_score_out_of_range_names_the_option():
    with pytest.raises(CheckFailed, match=r"the score 3 lies outside 0 to 1\n.*'score_range'"):
        check_oracle_reaches_ceiling(subject_of(score=lambda trajectory: 3.0))
    check_oracle_reaches_ceiling(
        subject_of(
            score=lambda trajectory: 10 * trajectory.steps[-1].reward - 5,
            ceiling=10 * CEILING - 5,
            score_range=(-5, 5),
        )
    )


class Hides(LampEnv):
    """The first observation of all instances is the same."""

    def text(self, told):
        return told if self.turn == 0 else super().text(told)


class OneLevelOneNoise(HasOneLevel):
    def noise_of(self, seed, rollout):
        return Random(0)


class OneLevelAndItsSeed(OneLevelOneNoise):
    def info(self):
        return {**super().info(), "seed": self.np_random_seed}


def test_seeds_matter_where_only_play_shows_it():
    check_seeds_matter(subject_of(Hides, canonical="instance"))
    for cls in (OneLevelOneNoise, OneLevelAndItsSeed):
        with pytest.raises(CheckFailed, match="all give the same episode for the same answers"):
            check_seeds_matter(subject_of(cls, canonical="instance"))


@pytest.mark.parametrize(
    ("error", "accepted"),
    [
        (AssertionError("Call Reset before step"), True),
        (ValueError("the episode is over"), False),
        (AttributeError("no attribute reset_count"), False),
    ],
)
def test_a_refusal_speaks_of_reset_and_is_no_accident(error, accepted):
    class Refuses(LampEnv):
        def demand_running(self):
            if not self.running:
                raise error

    if accepted:
        check_step_after_end(subject_of(Refuses))
    else:
        with pytest.raises(CheckFailed, match="after the end, step"):
            check_step_after_end(subject_of(Refuses))


@pytest.mark.parametrize(
    ("reward", "sound"),
    [
        (0, True),
        (np.float32(0.5), True),
        (np.int64(1), True),
        (True, False),
        (np.bool_(True), False),
        (None, False),
        (-math.inf, False),
        (np.array([1.0]), False),
        ("1", False),
    ],
)
def test_rewards_are_finite_real_numbers(reward, sound):
    class Pays(LampEnv):
        def step(self, answer):
            observation, _, *rest = super().step(answer)
            return observation, reward, *rest

    if sound:
        check_rewards(subject_of(Pays, oracle=None))
    else:
        with pytest.raises(CheckFailed, match="turn 1: the reward is"):
            check_rewards(subject_of(Pays, oracle=None))


def test_flags_may_be_numpys():
    class Flags(LampEnv):
        def step(self, answer):
            observation, reward, *flags, info = super().step(answer)
            return observation, reward, *map(np.bool_, flags), info

    check_flags(subject_of(Flags))
    check_gymnasium_checker(subject_of(Flags))


def test_a_rollout_that_only_info_tells_of_is_no_noise():
    class TellsItsRollout(LampEnv):
        def noise_of(self, seed, rollout):
            self.rollout = rollout
            return super().noise_of(seed, 0)

        def info(self):
            return {**super().info(), "rollout": self.rollout}

    with pytest.raises(CheckFailed, match="always gave the same observations, rewards and flags"):
        check_rollouts_differ_in_noise(subject_of(TellsItsRollout))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda env: env.turn == 0, "turn 0: info.* is True at reset"),
        (lambda env: int(env.door == 5), "turn 0: info.* is 0, a int, not a bool"),
    ],
)
def test_success_is_a_bool_that_is_false_at_reset(told, message):
    class Tells(LampEnv):
        def info(self):
            return {**super().info(), "success": told(self)}

    with pytest.raises(CheckFailed, match=message):
        check_success(subject_of(Tells))


def test_success_is_told_when_the_episode_ends():
    class Silent(LampEnv):
        def info(self):
            info = super().info()
            return info if info["success"] else {k: v for k, v in info.items() if k != "success"}

    with pytest.raises(CheckFailed, match="is missing in the step that ends the episode"):
        check_success(subject_of(Silent))


def test_reset_forgets_an_episode_that_was_broken_off():
    class ForgetsAtTheEnd(LampEnv):
        history = ""

        def text(self, told):
            self.history += told
            shown = super().text(self.history[:99])
            if not self.running:
                self.history = ""
            return shown

        def step(self, answer):
            *rest, info = super().step(answer)
            if rest[2] or rest[3]:
                self.history = ""
            return *rest, info

    with pytest.raises(CheckFailed, match="after other episodes on one"):
        check_reset_forgets(subject_of(ForgetsAtTheEnd))


def test_a_warning_of_gymnasiums_checker_is_a_failure():
    class SeedIsNought(LampEnv):
        def reset(self, *, seed=0, options=None):
            return super().reset(seed=seed, options=options)

    with pytest.raises(CheckFailed, match="default seed argument in reset should be `None`"):
        check_gymnasium_checker(subject_of(SeedIsNought))


def test_a_warning_of_the_construction_is_no_failure():
    class Warns(LampEnv):
        def __init__(self, split="train"):
            warnings.warn("an old library", DeprecationWarning, stacklevel=2)
            super().__init__(split)

    with pytest.warns(DeprecationWarning, match="an old library"):
        check_gymnasium_checker(subject_of(Warns))
