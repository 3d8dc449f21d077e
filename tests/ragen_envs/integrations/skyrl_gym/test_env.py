"""The suite's games in SkyRL-Gym: rows as its generator hands them on, steps and metrics."""

import copy
import json

import gymnasium
import pytest
import skyrl_gym
from gymnasium.error import ResetNeeded
from skyrl_gym.envs.base_text_env import BaseTextEnv
from skyrl_gym.metrics import aggregate_for_environment

from ragen_envs.core.policies import oracle_answer
from ragen_envs.integrations import skyrl_gym as bridge
from ragen_envs.integrations.bridging import NoiseSeedCounter, tasks
from ragen_envs.integrations.skyrl_gym import rows
from tests.ragen_envs.support import IDS, make

LAKE = "ragen/FrozenLake-v0"
DOWN = "<think></think><answer>Down || Right || Down || Right || Down</answer>"


@pytest.fixture(autouse=True)
def _numbered_from_nought(monkeypatch):
    monkeypatch.setattr(bridge, "_NOISE_SEEDS", NoiseSeedCounter())


def begun(row, **limits):
    """Make and begin the environment of a row, as SkyRL's generator does."""
    extras = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config={}, extras={**extras, **limits})
    prompt, _ = env.init(copy.deepcopy(row["prompt"]))
    return env, prompt


@pytest.mark.parametrize("id_", IDS)
def test_a_row_is_all_that_an_episode_needs(id_):
    [_, row] = rows(tasks(id_, 2, split="val", response_format="answer"))
    assert json.loads(json.dumps(row)) == row
    env, prompt = begun(row)
    bare = make(id_, split="val", response_format="answer")
    assert isinstance(env, BaseTextEnv)
    assert prompt == row["prompt"] == [{"role": "user", "content": bare.reset(seed=1)[0]}]
    while bare.legal_actions:
        answer = oracle_answer(bare)
        observation, reward, terminated, truncated, info = bare.step(answer)
        step = env.step(answer)
        done = terminated or truncated
        shown = [] if done else [{"role": "user", "content": observation}]
        assert (step["observations"], step["reward"], step["done"]) == (shown, reward, done)
    metrics = env.get_metrics()
    assert metrics["success"] == info["success"]
    assert metrics["score"] == info["score"]
    assert metrics["turns"] == info["turn"]


def test_a_prompt_of_ones_own_comes_first():
    system = {"role": "system", "content": "Play well."}
    [row] = rows(tasks(LAKE, 1))
    _, prompt = begun({**row, "prompt": [system]})
    assert prompt == [system, *row["prompt"]]


def test_the_members_of_a_group_share_the_instance_and_differ_in_noise():
    [row] = rows(tasks(LAKE, 1, first_seed=1))
    assert row["rollout"] is None
    # SkyRL hands the same dictionary to every member of a group.
    members = [begun(row) for _ in range(6)]
    assert [env.task.noise_seed for env, _ in members] == [*range(6)]
    assert all(prompt == row["prompt"] for _, prompt in members)
    played = [env.step(DOWN)["metadata"]["observation"] for env, _ in members]
    lake = make(LAKE)
    for rollout, observation in enumerate(played):
        lake.reset(seed=1, options={"noise_seed": rollout})
        assert lake.step(DOWN)[0] == observation
    assert len(set(played)) > 2


def test_a_row_with_a_rollout_keeps_it():
    rows_ = [*rows(tasks(LAKE, 2, 3), own_noise=False)]
    assert [(row["seed"], row["rollout"]) for row in rows_] == [
        (seed, rollout) for seed in range(2) for rollout in range(3)
    ]
    assert [begun(rows_[-1])[0].task.noise_seed for _ in range(2)] == [2, 2]


def test_skyrls_limit_of_turns_cuts_an_episode_short():
    [row] = rows(tasks(LAKE, 1))
    env, _ = begun(row, max_turns=2)
    assert env.step("?")["done"] is False
    step = env.step("?")
    assert (step["done"], step["observations"]) == (True, [])
    assert (step["metadata"]["terminated"], step["metadata"]["truncated"]) == (False, True)
    assert set(env.get_metrics()) == {"turns", "return"}


def test_skyrls_own_means_of_the_metrics():
    metrics = []
    for row in rows(tasks("ragen/Bandit-v0", 2)):
        env, _ = begun(row)
        env.step("out of form")
        metrics.append(env.get_metrics())
    assert aggregate_for_environment("ragen/Bandit-v0", metrics) == {
        "turns": 1.0,
        "return": -0.1,
        "score": 0.0,
        "success": 0.0,
    }


def test_a_cut_episode_counts_as_0_in_the_means():
    """The suite's scores count it so too."""
    metrics = []
    for max_turns in (None, 1):
        [row] = rows(tasks("ragen/Sokoban-v0", 1))
        env, _ = begun(row, max_turns=max_turns)
        while not env.step(env.episode.oracle())["done"]:
            pass
        metrics.append(env.get_metrics())
    assert [one.get("success") for one in metrics] == [1.0, None]
    means = aggregate_for_environment("ragen/Sokoban-v0", metrics)
    assert (means["success"], means["score"]) == (0.5, 0.5)


class Greeting(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Text(9)

    def __init__(self, greeting="Hello"):
        self.greeting = greeting

    def reset(self, *, seed=None, options=None):
        return f"{self.greeting} {seed}", {}

    def step(self, action):
        return "Bye", 1.0, True, False, {"is_success": True}


def test_an_environment_of_another_package():
    gymnasium.register("Greeting-v0", Greeting)
    try:
        [row] = rows(tasks("Greeting-v0", 1, first_seed=3), own_noise=False)
        assert row["env_class"] == "ragen"
        env, prompt = begun(row)
        assert prompt == [{"role": "user", "content": "Hello 3"}]
        assert env.step("Hi")["reward"] == 1
        assert env.get_metrics() == {"turns": 1, "return": 1.0, "success": 1.0}
        config = {"greeting": "Hey"}
        [message], _ = skyrl_gym.make("ragen", env_config=config, extras=row).init([])
        assert message["content"] == "Hey 3"
    finally:
        gymnasium.registry.pop("Greeting-v0")


@pytest.mark.parametrize(
    ("id_", "extras", "message"),
    [
        ("ragen", {"seed": 0}, "the row has no env; add one, or use"),
        (LAKE, {"rollout": 0}, "the row has no seed; ragen_envs.integrations.skyrl_gym.rows makes"),
        (LAKE, {"seed": 0, "split": "all"}, "split 'all' is unknown"),
        ("ragen", {"seed": 0, "env": "Nothing-v0"}, "environment 'Nothing-v0' is not known"),
    ],
)
def test_rows_that_are_refused(id_, extras, message):
    with pytest.raises(ValueError, match=message):
        skyrl_gym.make(id_, env_config={}, extras=extras)


def test_steps_out_of_order_and_seeds_that_are_none():
    env = skyrl_gym.make(LAKE, extras={"seed": -1})
    with pytest.raises(ResetNeeded):
        env.step(DOWN)
    with pytest.raises(ValueError, match="seed is an int of at least 0, got -1"):
        env.init([])
