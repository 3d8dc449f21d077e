"""The adapter of third-party environments."""

import gymnasium
import numpy as np
import pytest

from ragen_bench.errors import UserError
from ragen_bench.third_party import ThirdPartyEnv
from tests.ragen_bench.third_party import external_games


class Scripted(gymnasium.Env):
    """Returns what it was given."""

    def __init__(self, first, *steps):
        self._first, self._steps = first, iter(steps)

    def reset(self, *, seed=None, options=None):
        self.given = seed, options
        return self._first

    def step(self, action):
        return next(self._steps)


def read_info(**info):
    env = ThirdPartyEnv("my/Env-v0", Scripted(("first", info)), takes_noise_seed=True)
    _, recorded = env.reset(seed=3, options={"noise_seed": 5})
    return recorded


@pytest.mark.parametrize(
    ("info", "success", "score"),
    [
        ({}, None, None),
        ({"success": True}, True, 1.0),
        ({"success": np.False_}, False, 0.0),
        ({"is_success": True}, True, 1.0),
        ({"success": False, "is_success": True}, False, 0.0),
        ({"success": False, "score": 0.25}, False, 0.25),
        ({"score": np.float32(0.5)}, None, 0.5),
        ({"success": 1, "score": 1.5}, None, None),
        ({"success": "yes", "score": float("nan")}, None, None),
    ],
)
def test_success_and_score_are_read_from_info(info, success, score):
    recorded = read_info(**info)
    assert (recorded["success"], recorded["score"]) == (success, score)


def test_other_values_of_the_wrong_type_are_none():
    recorded = read_info(instance="abc", ceiling=0.5, optimal_length=4, action_is_valid=True)
    assert (recorded["instance"], recorded["ceiling"]) == ("abc", 0.5)
    assert (recorded["optimal_length"], recorded["action_is_valid"]) == (4, True)
    recorded = read_info(instance=7, ceiling=2, optimal_length=True, action_is_valid="no")
    for name in ("instance", "ceiling", "optimal_length", "action_is_valid", "format_is_valid"):
        assert recorded[name] is None


def test_noise_seed_is_passed_only_if_accepted():
    for takes, options in ((True, {"noise_seed": 5}), (False, None)):
        inner = Scripted(("first", {}))
        ThirdPartyEnv("my/Env-v0", inner, takes).reset(seed=3, options={"noise_seed": 5})
        assert inner.given == (3, options)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("text", r"reset returned str, not a tuple of 2"),
        (("text",), r"reset returned tuple, not a tuple of 2"),
        ((3, {}), r"an observation of type int; wrap it to return text"),
        (("text", None), r"an info of type NoneType, not a dictionary"),
    ],
)
def test_a_wrong_result_of_reset_is_an_error(first, message):
    env = ThirdPartyEnv("my/Env-v0", Scripted(first), takes_noise_seed=False)
    with pytest.raises(UserError, match=message):
        env.reset(seed=0)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), "1", None])
def test_a_reward_that_is_not_a_number_is_refused(reward):
    env = ThirdPartyEnv("my/Env-v0", Scripted(("a", {}), ("b", reward, False, False, {})), False)
    env.reset(seed=0)
    with pytest.raises(UserError, match=r"my/Env-v0 is not a text environment.*the reward"):
        env.step("answer")


def test_an_environment_that_raises_names_itself_and_the_turn():
    env = ThirdPartyEnv("external/Failing-v0", external_games.Failing(), takes_noise_seed=False)
    env.reset(seed=0)
    env.step("fine")
    with pytest.raises(
        UserError, match=r"external/Failing-v0 raised RuntimeError: the game broke in step, turn 2"
    ):
        env.step("fail")


@pytest.mark.parametrize(("name", "turns"), [("Endless", 100), ("Short", 7)])
def test_an_episode_without_an_end_is_truncated(name, turns):
    made = gymnasium.make(f"external/{name}-v0", disable_env_checker=True)
    env = ThirdPartyEnv("it", made, takes_noise_seed=False)
    env.reset(seed=0)
    ends = [env.step("more")[3] for _ in range(turns)]
    assert ends == [False] * (turns - 1) + [True]
    assert (env.budget.max_turns, env.turns_left) == (turns, 0)


def test_listed_actions_come_from_info_or_from_an_attribute():
    env = ThirdPartyEnv("it", external_games.Guess(), takes_noise_seed=True)
    assert env.legal_actions == ()
    env.reset(seed=0)
    assert env.legal_actions == tuple("0123456789")
    assert env.read(" 7\n") == ((True, (0,), True, False), ("7",))
    assert env.read("ten") == ((True, (), False, False), ())
    silent = ThirdPartyEnv("it", external_games.Echo(), takes_noise_seed=False)
    silent.reset(seed=0)
    assert silent.legal_actions == ()
    assert silent.read("ten") == ((True, (), True, False), ())
    listing = external_games.Echo()
    listing.legal_actions = ["a", "b", 3]
    env = ThirdPartyEnv("it", listing, takes_noise_seed=False)
    env.reset(seed=0)
    assert env.legal_actions == ("a", "b")
