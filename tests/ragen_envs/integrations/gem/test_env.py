"""The suite's games in GEM: its registry, wrappers and vector environments."""

import random

import gem
import gymnasium
import numpy as np
import pytest
from gem.core import Env
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gymnasium.error import ResetNeeded

from ragen_envs.integrations.gem import GemEnv
from tests.ragen_envs.support import IDS, make

LAKE = "ragen:FrozenLake-v0"
DOWN = "<think></think><answer>Down || Right || Down || Right || Down</answer>"


def told(env, answers, **reset):
    """Return the texts, rewards and ends of an episode that is played until it ends."""
    seen = [env.reset(**reset)[0]]
    for answer in answers:
        *step, _ = env.step(answer)
        seen.append(tuple(step))
        if step[2] or step[3]:
            break
    return seen


@pytest.mark.parametrize("id_", IDS)
def test_every_id_is_in_gems_registry(id_):
    env = gem.make(id_.replace("/", ":"), split="val", response_format="plain")
    assert isinstance(env, Env)
    bare = make(id_, split="val", response_format="plain")
    for _ in range(3):
        answer = "Up" if bare.reset(seed=4)[0] == env.reset(seed=4)[0] else None
        assert env.step(answer)[:4] == bare.step(answer)[:4]


def test_info_says_nothing_that_tells_the_answer():
    env = gem.make("ragen:TwentyQuestions-v0")
    info = env.reset(seed=0)[1]
    assert not {"success", "score", "instance", "index"} & set(info)
    assert info["turn"] == 0


def test_gems_wrappers_show_the_whole_episode():
    env = gem.make("ragen:Sokoban-v0", response_format="plain")
    first, feedback = told(env, ["Up"], seed=3)
    shown = f"{first}\nUp\n{feedback[0]}\n"
    for names in ("concat_with_action,episode_tracking", "concat_with_action"):
        wrapped = env
        for wrapper in get_wrapper_fns(names):
            wrapped = wrapper(wrapped)
        assert wrapped.reset(seed=3)[0] == f"{first}\n"
        observation, reward, *_, info = wrapped.step("Up")
        assert (observation, reward) == (shown, feedback[1])
        assert info.get("cumulative_rewards", reward) == reward
        assert wrapped.unwrapped is env
    with_tools = ToolEnvWrapper(env, tools=[])
    assert with_tools.reset(seed=3)[0] == f"{first}\n"
    assert with_tools.step("Up")[:4] == feedback


@pytest.mark.parametrize("async_mode", [False, True])
def test_gems_vector_environments_play_a_group_of_rollouts(async_mode):
    group = [{"seed": 7, "noise_seed": noise_seed} for noise_seed in range(4)]
    envs = gem.make_vec([LAKE] * 4, vec_kwargs=group, async_mode=async_mode)
    lakes = [make("ragen/FrozenLake-v0") for _ in range(4)]
    firsts, _ = envs.reset()
    begun = [lake.reset(seed=7, options={"noise_seed": j})[0] for j, lake in enumerate(lakes)]
    assert firsts == begun
    assert len(set(firsts)) == 1
    # GEM begins the next episode where one is over, and shows its first observation.
    _, rewards, terminated, truncated, _ = envs.step([DOWN] * 4)
    played = [lake.step(DOWN) for lake in lakes]
    assert [*rewards] == [step[1] for step in played]
    assert [*terminated] == [step[2] for step in played]
    assert [*truncated] == [step[3] for step in played]
    assert len({step[0] for step in played}) > 1


def test_the_seed_of_a_vector_environment_counts_up():
    envs = gem.make_vec([LAKE] * 3, seed=5)
    assert envs.reset()[0] == [make("ragen/FrozenLake-v0").reset(seed=s)[0] for s in (5, 6, 7)]
    assert envs.reset(seed=9)[0] == [
        make("ragen/FrozenLake-v0").reset(seed=s)[0] for s in (9, 10, 11)
    ]


def test_the_members_of_a_group_share_the_instance_and_differ_in_noise():
    env = gem.make(LAKE)
    members = [told(env, [DOWN] * 5, seed=1, noise_seed=noise_seed) for noise_seed in range(6)]
    assert len({member[0] for member in members}) == 1
    assert len({str(member) for member in members}) > 2
    for noise_seed, member in enumerate(members):
        assert told(gem.make(LAKE, noise_seed=noise_seed), [DOWN] * 5, seed=1) == member
        assert told(env.spawn(noise_seed=noise_seed), [DOWN] * 5, seed=1) == member
    assert env.reset(seed=2)[0] != members[0][0]


def test_a_group_stays_one_over_further_instances():
    members = [gem.make(LAKE, seed=3, noise_seed=noise_seed) for noise_seed in range(3)]
    shown = [[member.reset()[0] for _ in range(4)] for member in members]
    assert shown[0] == shown[1] == shown[2]
    assert len(set(shown[0])) == 4
    assert shown[0][0] == make("ragen/FrozenLake-v0").reset(seed=3)[0]


def test_a_copy_goes_on_alike_and_apart():
    env = gem.make(LAKE, noise_seed=2)
    env.reset(seed=0)
    twin = env.spawn(same_state=True)
    assert twin.step(DOWN) == env.step(DOWN)
    twin.reset(seed=1)
    assert env.episode.task.seed == 0
    with pytest.raises(
        ValueError, match=r"same_state takes no other arguments, got \['noise_seed'\]"
    ):
        env.spawn(same_state=True, noise_seed=1)


def test_random_answers_are_in_form_and_the_same_ones_again():
    answers = []
    for _ in range(2):
        env = gem.make("ragen:Sokoban-v0", seed=1)
        env.reset()
        answers.append([env.sample_random_action() for _ in range(5)])
        info = env.step(answers[-1][0])[4]
        assert info["format_is_valid"]
        assert info["action_is_valid"]
    assert answers[0] == answers[1]
    assert len(set(answers[0])) > 1


def test_the_global_generators_stay_as_they_are():
    before = random.getstate(), str(np.random.get_state())
    env = gem.make(LAKE)
    env.reset(seed=1)
    env.reset()
    env.sample_random_action()
    env.step(DOWN)
    assert (random.getstate(), str(np.random.get_state())) == before


class Greeting(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Text(9)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "Hello", {}

    def step(self, action):
        return "Bye", 1.0, True, False, {}


def test_an_environment_of_another_package():
    gymnasium.register("Greeting-v0", Greeting)
    try:
        env = GemEnv("Greeting-v0")
        assert told(env, ["Hi"]) == ["Hello", ("Bye", 1.0, True, False)]
        with pytest.raises(NotImplementedError, match="Greeting-v0 has no random player"):
            env.sample_random_action()
    finally:
        gymnasium.registry.pop("Greeting-v0")


def test_misuse_is_refused():
    env = gem.make(LAKE)
    with pytest.raises(ResetNeeded):
        env.step(DOWN)
    with pytest.raises(ValueError, match="seed is an int of at least 0, got -1"):
        env.reset(seed=-1)
    with pytest.raises(ValueError, match="noise_seed is an int of at least 0, got True"):
        env.reset(seed=0, noise_seed=True)
    with pytest.raises(ValueError, match="split 'all' is unknown"):
        gem.make(LAKE, split="all")
    with pytest.raises(ValueError, match=r"FrozenLake-v0 cannot be made: .*boxes"):
        gem.make(LAKE, boxes=2)
