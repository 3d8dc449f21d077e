"""Vector environments: what makes them, what they tell of themselves, how they close."""

import contextlib
import io
import re
from pathlib import Path

import gymnasium
import pytest
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from ragen_envs.core.vector import TextVectorEnv
from tests.ragen_envs.support import make
from tests.ragen_envs.vectors import MODES, SOKOBAN, assert_same, sync, vector

DOCS = Path(__file__).parents[3] / "docs" / "vector.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_envs", [1, 3])
def test_what_make_vec_gives(mode, num_envs):
    env = vector("ragen_envs:" + SOKOBAN, num_envs, mode, split="test", response_format="plain")
    assert type(env) is TextVectorEnv
    assert env.num_envs == num_envs
    assert env.metadata == {
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
        "autoreset_mode": mode,
    }
    assert env.spec.id == SOKOBAN
    reference = sync(num_envs=num_envs)
    assert env.single_observation_space == reference.single_observation_space
    assert env.observation_space == reference.observation_space
    assert env.action_space == reference.action_space
    observations, _ = env.reset(seed=3)
    assert observations in env.observation_space
    again = gymnasium.make_vec(env.spec)
    assert again.num_envs == num_envs
    assert again.metadata == env.metadata
    assert_same(again.reset(seed=3)[0], observations)
    assert repr(env) == f"TextVectorEnv({SOKOBAN}, num_envs={num_envs})"


def test_a_mode_may_be_given_by_its_value():
    assert vector(mode="SameStep").metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="'Sometimes' is not a valid AutoresetMode"):
        vector(mode="Sometimes")


@pytest.mark.parametrize(
    ("env_fns", "error", "message"),
    [
        ([], ValueError, "num_envs >= 1"),
        (
            [lambda: TimeLimit(make("Sokoban-v0"), 3)],
            TypeError,
            r"is not a TextEnv: put wrapped .*Sync",
        ),
        ([lambda: make("Sokoban-v0"), lambda: make("Bandit-v0")], ValueError, "spaces differ"),
    ],
)
def test_environments_that_do_not_fit_are_refused(env_fns, error, message):
    with pytest.raises(error, match=message):
        TextVectorEnv(env_fns)


@pytest.mark.parametrize("num_envs", [0, -1])
def test_at_least_one_environment(num_envs):
    with pytest.raises(ValueError, match="at least one environment: num_envs >= 1"):
        vector(num_envs=num_envs)


def test_closing_twice_and_what_is_refused_afterwards():
    env = vector()
    env.reset(seed=0)
    env.close()
    env.close()
    for act in (env.reset, lambda: env.step(["Up"] * 3)):
        with pytest.raises(ClosedEnvironmentError, match="is closed: make a new one"):
            act()


def test_call_and_attributes():
    env = vector(response_format="plain", split="test")
    env.reset(seed=0)
    assert [len(names) for names in env.call("best_actions")] == [
        min(5, int(length)) for length in env.reset(seed=0)[1]["optimal_length"]
    ]
    assert env.get_attr("turns_left") == (5, 5, 5)
    env.set_attr("response_format", ["plain", "answer", "think"])
    assert env.get_attr("response_format") == ("plain", "answer", "think")
    assert env.step(["Up"] * 3)[4]["format_is_valid"].tolist() == [True, False, False]
    env.set_attr("response_format", "plain")
    assert env.get_attr("response_format") == ("plain",) * 3
    with pytest.raises(ValueError, match="3 environments need as many values, got 2"):
        env.set_attr("response_format", ["plain"] * 2)
    with pytest.raises(ValueError, match=r"call reset\(\) of the vector environment"):
        env.call("reset")
    with pytest.raises(AttributeError):
        env.get_attr("nothing")


def test_wrappers_of_single_environments_go_with_mode_sync():
    env = sync(
        response_format="plain",
        wrappers=[RecordEpisodeStatistics, lambda env: TimeLimit(env, max_episode_steps=2)],
    )
    env.reset(seed=0)
    env.step(["x"] * 3)
    _, _, _, truncations, infos = env.step(["x"] * 3)
    assert truncations.all()
    assert infos["turn"].tolist() == [2, 2, 2]


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_the_examples_of_the_docs(code, printed):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == printed


def test_there_are_two_examples():
    assert len(EXAMPLES) == 2
