"""The classes for TRL: their tools, their episodes, their rewards and their rows."""

import inspect
import typing

import gymnasium
import pytest
from transformers.utils import get_json_schema

from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.tools import calls_of, schemas
from ragen_envs.integrations.bridging import tasks
from ragen_envs.integrations.trl import dataset, environment, rows
from tests.ragen_envs.support import IDS, make

LAKE = "ragen/FrozenLake-v0"
DOWN = {"actions": ["Down", "Right", "Down", "Right", "Down"]}


def tools_of(env):
    """Return the methods that TRL takes for tools, as its trainer finds them."""
    return {
        name: getattr(env, name)
        for name, _ in inspect.getmembers(type(env), predicate=inspect.isfunction)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    }


@pytest.mark.parametrize("id_", IDS)
def test_the_tools_are_the_games_functions_as_transformers_describes_them(id_):
    env, game = environment(id_)(), make(id_)
    game.reset(seed=0)
    tools = tools_of(env)
    assert set(tools) == {function.name for function in game.functions}
    for offered in schemas(game):
        wanted = offered["function"]
        described = get_json_schema(tools[wanted["name"]])["function"]
        assert described["description"] == wanted["description"]
        parameters = described["parameters"]
        assert parameters.get("required", []) == wanted["parameters"]["required"]
        mine, theirs = (p["properties"] for p in (parameters, wanted["parameters"]))
        assert [*mine] == [*theirs]
        for name, here in mine.items():
            assert here["type"] == theirs[name]["type"]
            assert here["description"] == theirs[name]["description"]
            item, listed = (p.get("items", p).get("enum") for p in (here, theirs[name]))
            assert item == (listed if game.has_fixed_actions else None)


@pytest.mark.parametrize("id_", IDS)
def test_an_episode_by_calls_pays_what_gymnasium_pays(id_):
    env, game = environment(id_)(), make(id_, split="val", response_format="tools")
    first, _ = game.reset(seed=2)
    assert env.reset(seed=2, rollout=0, split="val") == first
    rewards = []
    while game.legal_actions:
        actions = game.best_actions()
        [(name, arguments)] = calls_of(game, actions)
        observation, reward, *_ = game.step(oracle_answer(game))
        rewards.append(reward)
        assert getattr(env, name)(**arguments) == observation
    assert env.get_reward() == sum(rewards)
    with pytest.raises(ValueError, match="the episode is over"):
        getattr(env, name)(**arguments)


def test_a_call_out_of_form_takes_a_turn():
    env = environment("ragen/Sokoban-v0")()
    env.reset(seed=0)
    out = "The answer was not in the required form, so nothing was done. Reward: -0.1."
    for arguments in ({"actions": 3}, {"action": "Up"}, {}, {"actions": ["Up || Up"]}):
        assert env.act(**arguments).startswith(out)
    assert env.act(actions=["Jump"]).startswith("Done: nothing. What is not an action was skipped")
    assert env.get_reward() == pytest.approx(-0.5)


def test_silence_costs_what_answers_out_of_form_cost():
    env = environment("ragen/Sokoban-v0")()
    env.reset(seed=0)
    env.act(actions=["Up"])
    assert env.get_reward() == env.get_reward() == pytest.approx(-0.1 - 4 * 0.1)
    assert env.episode.done


def test_the_members_of_a_group_share_the_instance_and_differ_in_noise():
    [row] = rows(tasks(LAKE, 1, first_seed=1))
    factory = environment(LAKE)
    members = [factory() for _ in range(6)]
    assert len({member.reset(**row) for member in members}) == 1
    assert [member.episode.task.noise_seed for member in members] == [*range(6)]
    played = [member.act(**DOWN) for member in members]
    lake = make(LAKE)
    for rollout, observation in enumerate(played):
        lake.reset(seed=1, options={"noise_seed": rollout})
        assert (
            lake.step("<think></think><answer>Down || Right || Down || Right || Down</answer>")[0]
            == observation
        )
    assert len(set(played)) > 2
    # The next group of the instance goes on; another class counts for itself.
    members[0].reset(**row)
    assert members[0].episode.task.noise_seed == 6
    other = environment(LAKE)()
    other.reset(**row)
    assert other.episode.task.noise_seed == 0


def test_the_rows_of_a_data_set():
    made = dataset(tasks(LAKE, 2, 2, split="val"), own_noise=False)
    assert [(row["seed"], row["rollout"]) for row in made] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert made[3] == {
        "prompt": [{"role": "user", "content": ""}],
        "environment": LAKE,
        "seed": 1,
        "rollout": 1,
        "split": "val",
    }
    env = environment(LAKE)()
    env.reset(**made[3])
    assert (env.episode.task.seed, env.episode.task.noise_seed) == (1, 1)
    assert env.episode.task.split == "val"
    assert [row["rollout"] for row in dataset(tasks(LAKE, 2))] == [None, None]


class Greeting(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Text(9)

    def reset(self, *, seed=None, options=None):
        return f"Hello {seed}", {}

    def step(self, action):
        return f"Bye {action}", 1.0, True, False, {}


def test_an_environment_of_another_package():
    gymnasium.register("Greeting-v0", Greeting)
    try:
        env = environment("Greeting-v0")()
        assert [*tools_of(env)] == ["act"]
        assert typing.get_type_hints(env.act) == {"action": str, "return": str}
        assert env.reset(seed=3) == "Hello 3"
        assert env.get_reward() == 0
        with pytest.raises(ValueError, match="action is a string, got 3"):
            env.act(action=3)
        assert (env.act(action="Hi"), env.get_reward()) == ("Bye Hi", 1)
    finally:
        gymnasium.registry.pop("Greeting-v0")


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="environment 'Nothing-v0' is not known"):
        environment("Nothing-v0")
    with pytest.raises(ValueError, match=r"FrozenLake-v0 cannot be made: .*boxes"):
        environment(LAKE, boxes=2)
    env = environment(LAKE)()
    for call in (env.act, env.get_reward):
        with pytest.raises(ValueError, match="no episode has begun: call reset first"):
            call()
    with pytest.raises(ValueError, match="split 'all' is unknown"):
        env.reset(seed=0, split="all")
