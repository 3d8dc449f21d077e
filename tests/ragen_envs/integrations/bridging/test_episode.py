"""What a bridge may be told of an episode, and what it is refused."""

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, Text

from ragen_envs import IDS
from ragen_envs.integrations.bridging import Episode, Task, tasks


class Greeting(gymnasium.Env):
    """Ends with the first answer; the option `noise_seed` is the reward."""

    observation_space = action_space = Text(9)

    def __init__(self, first="Hello"):
        self.first = first

    def reset(self, *, seed=None, options=None):
        self.reward = (options or {}).get("noise_seed", 0)
        return self.first, {"secret": "word", "score": 1, "legal_actions": ("Hi",)}

    def step(self, action):
        return "Bye", self.reward, True, False, {"is_success": action == "Hi", "secret": "word"}


@pytest.fixture(autouse=True)
def _registered():
    gymnasium.register("Greeting-v0", Greeting)
    yield
    gymnasium.registry.pop("Greeting-v0")


@pytest.mark.parametrize("id_", IDS)
def test_nothing_is_told_in_the_middle_that_would_tell_the_answer(id_):
    episode = Episode(id_, split="test")
    episode.reset(0)
    assert {"legal_actions", "turn", "actions_left"} < set(episode.info)
    assert not {"success", "score", "ceiling", "instance", "index"} & set(episode.info)
    assert episode.success is None
    while not episode.done:
        turn = episode.step(episode.oracle())
        assert ("success" in turn.info) is turn.done
    assert episode.success is episode.info["success"]
    assert "instance" not in episode.info


def test_an_episode_knows_its_task_its_turns_and_their_sum():
    episode = Episode("ragen/Sokoban-v0", "val", "plain")
    assert episode.task is None
    first = episode.reset(3, noise_seed=2)
    assert episode.task == Task("ragen/Sokoban-v0", 3, 2, "val", "plain")
    assert (
        first
        == gymnasium.make("ragen/Sokoban-v0", split="val", response_format="plain").reset(seed=3)[0]
    )
    turns = [episode.step("Up") for _ in range(2)]
    assert episode.turns == turns
    assert episode.total_reward == turns[0].reward + turns[1].reward
    episode.reset(3)
    assert (episode.turns, episode.total_reward) == ([], 0)


def test_an_environment_of_another_package():
    episode = Episode("Greeting-v0", first="Hey")
    assert (episode.reset(0), episode.info) == ("Hey", {"legal_actions": ("Hi",)})
    turn = episode.step("Hi")
    assert turn == ("Bye", 0.0, True, False, {"is_success": True})
    assert episode.success is True
    episode.reset(0, noise_seed=4)
    assert (episode.step("x").reward, episode.success) == (4.0, False)
    with pytest.raises(ValueError, match=r"^Greeting-v0 has no oracle$"):
        episode.oracle()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Nothing-v0",), "environment 'Nothing-v0' is not known: .*; MODULE:Nothing-v0 imports"),
        (("no_such_module:A-v0",), "no_such_module:A-v0: no_such_module cannot be imported: "),
        (("Greeting-v0", "test"), "Greeting-v0 has no argument split; leave it out"),
        (("Greeting-v0", "train", "plain"), "Greeting-v0 has no argument response_format; leave"),
        (("ragen/Sokoban-v0", "tset"), "split 'tset' is unknown; choose one of"),
        (("ragen/Sokoban-v0", "test", "tags"), "response_format 'tags' is unknown; choose one of"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_do(arguments, message):
    with pytest.raises(ValueError, match=message):
        Episode(*arguments)


def test_an_argument_that_the_environment_lacks():
    with pytest.raises(ValueError, match=r"Greeting-v0 cannot be made: .*last"):
        Episode("Greeting-v0", last="Bye")


@pytest.mark.parametrize("seed", [-1, True, 1.0, None, "1"])
def test_seeds_and_rollouts_that_are_none(seed):
    episode = Episode("ragen/Bandit-v0")
    for arguments in ((seed,), (0, seed)):
        with pytest.raises(ValueError, match=r"is an int of at least 0, got "):
            episode.reset(*arguments)


def test_steps_out_of_order():
    episode = Episode("Greeting-v0")
    with pytest.raises(ResetNeeded):
        episode.step("Hi")
    episode.reset(0)
    with pytest.raises(TypeError, match="a response must be a str, got int"):
        episode.step(1)
    episode.step("Hi")
    with pytest.raises(ResetNeeded):
        episode.step("Hi")


def test_an_environment_without_texts():
    class Numbers(Greeting):
        observation_space = Discrete(2)

        def reset(self, *, seed=None, options=None):
            return 1, {}

    gymnasium.register("Numbers-v0", Numbers)
    try:
        with pytest.raises(ValueError, match="not a text environment: its observations are of int"):
            Episode("Numbers-v0").reset(0)
    finally:
        gymnasium.registry.pop("Numbers-v0")


def test_the_rollouts_of_an_instance_are_side_by_side():
    made = list(tasks("ragen/Bandit-v0", 2, 2, split="val", response_format="plain", first_seed=5))
    assert made == [
        Task("ragen/Bandit-v0", seed, noise_seed, "val", "plain")
        for seed, noise_seed in ((5, 0), (5, 1), (6, 0), (6, 1))
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "instances is at least 1, got 0"),
        ((1, 0), "rollouts is at least 1, got 0"),
        ((1, 1, -1), "first_seed is at least 0, got -1"),
    ],
)
def test_numbers_of_tasks_out_of_range(arguments, message):
    *counts, first = (*arguments, 0) if len(arguments) < 3 else arguments
    with pytest.raises(ValueError, match=message):
        tasks("ragen/Bandit-v0", *counts, first_seed=first)


@pytest.mark.parametrize("id_", IDS)
def test_the_instances_of_a_split_are_counted(id_):
    assert Episode(id_).instances is None
    counted = Episode(id_, split="test").instances
    env = gymnasium.make(id_, split="test")
    indices = [env.reset(seed=seed)[1]["index"] for seed in (counted - 1, counted)]
    assert indices == [counted - 1, 0]


def test_an_environment_that_does_not_say_so_has_no_number_of_instances():
    assert Episode("Greeting-v0").instances is None
