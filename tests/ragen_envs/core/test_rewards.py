"""Reward functions of one's own: what they see, what they change, and what they may return."""

import copy
import math
import pickle

import gymnasium
import numpy as np
import pytest

from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.rewards import Transition
from ragen_envs.registration import IDS, load_class

NAMES = tuple(id_.partition("/")[2] for id_ in IDS)


def success_only(transition: Transition) -> float:
    return float(transition.success and transition.terminated)


def own(transition: Transition) -> float:
    return transition.reward


class Counting:
    """A reward that has a state: the number of turns it has seen."""

    def __init__(self):
        self.turns = 0

    def __call__(self, transition):
        self.turns += 1
        return self.turns


def make(name, reward_fn=None, **kwargs):
    return gymnasium.make(f"ragen/{name}", split="val", reward_fn=reward_fn, **kwargs).unwrapped


def episode(env, seed=0, answers=None):
    """Return everything that an episode returns, with the oracle's answers or given ones."""
    results, played = [env.reset(seed=seed)], []
    while env.legal_actions:
        played.append(answers[len(played)] if answers else oracle_answer(env))
        results.append(env.step(played[-1]))
    return results, played


@pytest.mark.parametrize("name", NAMES)
def test_a_reward_function_decides_the_reward_and_nothing_else(name):
    plain, answers = episode(make(name))
    rewarded, _ = episode(make(name, lambda transition: 7.25), answers=answers)
    assert rewarded[0] == plain[0]
    for (*before, before_info), (*after, after_info) in zip(plain[1:], rewarded[1:], strict=True):
        assert after[1] == 7.25
        assert (after[0], *after[2:], after_info) == (before[0], *before[2:], before_info)


@pytest.mark.parametrize("name", NAMES)
def test_the_default_reward_is_the_games_own_bit_for_bit(name):
    plain, answers = episode(make(name))
    passed_on, _ = episode(make(name, own), answers=answers)
    assert [step[1].hex() for step in passed_on[1:]] == [step[1].hex() for step in plain[1:]]


@pytest.mark.parametrize("name", NAMES)
def test_a_transition_is_the_turn(name):
    seen = []
    env = make(name, lambda transition: seen.append(transition) or 0)
    results, answers = episode(env)
    own_rewards = [step[1] for step in episode(make(name), answers=answers)[0][1:]]
    assert len(seen) == len(answers)
    for transition, answer, reward, step in zip(
        seen, answers, own_rewards, results[1:], strict=True
    ):
        _, _, terminated, truncated, info = step
        assert transition == (
            answer, transition.actions, reward, terminated, truncated, info["success"], info,
        )  # fmt: skip
        assert transition.info is not info


def test_the_actions_are_those_that_ran():
    seen = []
    env = make("Sokoban-v0", lambda t: seen.append(t.actions) or 0, response_format="plain")
    env.reset(seed=0)
    env.step("up || nothing || LEFT")
    env.step(" || ".join(["Up"] * 9))
    assert seen == [("Up", "Left"), ("Up",) * 5]
    env.reset(seed=next(s for s in range(99) if env.get_instance(s).optimal_length == 4))
    solution = env.best_actions()
    *_, info = env.step(" || ".join((*solution, "Up")))
    assert info["success"]
    assert seen[-1] == solution
    env = make("Sokoban-v0", lambda t: seen.append(t.actions) or 0)
    env.reset(seed=0)
    env.step("Up, I say")
    assert seen[-1] == ()


def test_an_info_that_the_function_changes_stays_its_own():
    env = make("Sokoban-v0", lambda transition: transition.info.clear() or 0.0)
    env.reset(seed=0)
    *_, info = env.step("")
    assert info["turn"] == 1


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_vector_environments_take_it(mode):
    envs = gymnasium.make_vec(
        "ragen/Sokoban-v0", 3, split="test", reward_fn=success_only, autoreset_mode=mode
    )
    singles = [
        gymnasium.make("ragen/Sokoban-v0", split="test", reward_fn=success_only) for _ in range(3)
    ]
    envs.reset(seed=0)
    for seed, single in enumerate(singles):
        single.reset(seed=seed)
    answers = [oracle_answer(env) for env in envs.envs]
    rewards = envs.step(answers)[1]
    assert rewards.dtype == np.float64
    alone = [env.step(answer)[1] for env, answer in zip(singles, answers, strict=True)]
    assert rewards.tolist() == alone
    assert {*alone} == {0.0, 1.0}


def test_copies_and_pickles_keep_the_function_and_its_state():
    env = make("Sokoban-v0", Counting())
    env.reset(seed=0)
    env.step("")
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.step("")[1] == 2
        assert other.step("")[1] == 3
    assert env.step("")[1] == 2
    assert pickle.loads(pickle.dumps(make("Bandit-v0", success_only)))._reward_fn is success_only


@pytest.mark.parametrize("reward", [np.float32(0.5), np.int64(2), 3, True])
def test_any_finite_number_becomes_a_float(reward):
    env = make("Sokoban-v0", lambda transition: reward)
    env.reset(seed=0)
    given = env.step("")[1]
    assert type(given) is float
    assert given == reward


@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        (None, TypeError, "reward_fn returned None, a NoneType: a reward is a finite number"),
        ("1", TypeError, "reward_fn returned '1', a str: a reward is a finite number"),
        (1j, TypeError, "a complex"),
        (np.zeros(1), TypeError, "a ndarray"),
        (math.nan, ValueError, "reward_fn returned nan: a reward is a finite number"),
        (-math.inf, ValueError, "reward_fn returned -inf"),
    ],
)
def test_anything_else_is_refused(reward, error, message):
    env = make("Sokoban-v0", lambda transition: reward)
    env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.step("")


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_called_is_refused(name):
    with pytest.raises(TypeError, match=r"reward_fn is a function of a Transition, got 0\.5"):
        load_class(f"ragen/{name}")(name, reward_fn=0.5)


def test_an_opponents_game_takes_it():
    env = gymnasium.make(
        "ragen/TwentyQuestionsModel-v0", answerer=lambda read: "Yes", reward_fn=lambda t: 2
    )
    env.reset(seed=0)
    assert env.step("<think></think><answer>Is it big?</answer>")[1] == 2.0
