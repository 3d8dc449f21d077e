"""Arguments, resets, seeds and copies, as all games share them."""

import copy
import dataclasses
import gc
import pickle
import tracemalloc

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.games.sokoban.env import SokobanEnv
from tests.ragen_envs.counting import CountEnv, CountVariant, count
from tests.ragen_envs.support import TWENTY_QUESTIONS, held_out_size, make


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "Count-v9"}, "variant 'Count-v9' is unknown; choose one of ['Count-v0']"),
        (
            {"split": "dev"},
            "split 'dev' is unknown; choose one of ['train', 'val', 'test', 'sealed', 'drawn']",
        ),
        (
            {"split": None},
            "split None is unknown; choose one of ['train', 'val', 'test', 'sealed', 'drawn']",
        ),
        (
            {"response_format": "json"},
            "response_format 'json' is unknown; "
            "choose one of ['think', 'answer', 'plain', 'tools']",
        ),
        (
            {"render_mode": "human"},
            "render_mode 'human' is unknown; choose one of [None, 'ansi']",
        ),
    ],
)
def test_bad_arguments_name_the_choices(arguments, message):
    with pytest.raises(ValueError, match="is unknown; choose one of") as error:
        CountEnv(**{"variant": "Count-v0", **arguments})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 3}, "unknown reset options ['level']; the only one is 'noise_seed'"),
        ({"noise_seed": 1, "b": 1, "a": 2}, "unknown reset options ['a', 'b']; the only one is"),
        ({"noise_seed": -1}, "the option 'noise_seed' is an int of at least 0, got -1"),
        ({"noise_seed": "1"}, "the option 'noise_seed' is an int of at least 0, got '1'"),
        ({"noise_seed": 1.0}, "the option 'noise_seed' is an int of at least 0, got 1.0"),
        ({"noise_seed": True}, "the option 'noise_seed' is an int of at least 0, got True"),
        ({"noise_seed": None}, "the option 'noise_seed' is an int of at least 0, got None"),
    ],
)
def test_bad_options_say_what_is_possible(options, message):
    with pytest.raises(ValueError, match="noise_seed") as error:
        count().reset(seed=0, options=options)
    assert str(error.value).startswith(message)


def test_a_negative_seed_is_refused():
    with pytest.raises(gymnasium.error.Error):
        count().reset(seed=-1)


def test_a_rollout_changes_the_noise_and_nothing_else():
    env = count()
    firsts, noises = set(), []
    for noise_seed in (None, 0, 1, 2, 10**30):
        options = None if noise_seed is None else {"noise_seed": noise_seed}
        firsts.add(env.reset(seed=5, options=options)[0])
        noises.append(env.noise)
    assert len(firsts) == 1
    assert noises[0] == noises[1]
    assert len(set(noises)) == 4
    assert env.reset(seed=5, options={})[0] in firsts
    assert env.noise == noises[0]


def test_without_a_seed_the_next_instance_comes_from_np_random():
    def indices(env):
        first = [env.reset(seed=7)[1]["index"]]
        return first + [env.reset()[1]["index"] for _ in range(5)]

    assert indices(count()) == indices(count())
    assert len(set(indices(count()))) == 6
    env = count()
    env.reset(seed=7)
    noises = set()
    for _ in range(5):
        env.reset()
        noises.add(env.noise)
    assert len(noises) == 5


def test_held_out_instances_of_a_variant_of_your_own_are_refused_plainly():
    for split in SHIPPED_SPLITS:
        env = CountEnv(CountVariant("Mine-v0"), split=split)
        message = f"the split '{split}' is of the suite's own variants; 'Mine-v0' of your own has"
        with pytest.raises(ValueError, match=message):
            env.reset(seed=0)


def test_a_variant_that_keeps_a_name_and_changes_the_rest_is_one_of_your_own():
    shipped = SokobanEnv.variants["Sokoban-v0"]
    tight = dataclasses.replace(shipped, budget=Budget(max_turns=2))
    with pytest.raises(ValueError, match="of your own has the splits 'train', 'sealed' and"):
        SokobanEnv(tight, split="test").reset(seed=0)
    assert SokobanEnv(tight).reset(seed=0)[1]["optimal_length"] <= 10
    twin = SokobanEnv(dataclasses.replace(shipped), split="test")
    assert twin.reset(seed=3) == SokobanEnv("Sokoban-v0", split="test").reset(seed=3)


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", ["Sokoban-v0", *TWENTY_QUESTIONS])
def test_held_out_seeds_wrap(name, split):
    env, size = make(name, split=split), held_out_size(name)
    assert type(env).held_out_size(name) == size
    firsts = [env.reset(seed=seed) for seed in range(size)]
    assert [info["index"] for _, info in firsts] == list(range(size))
    assert len({info["instance"] for _, info in firsts}) == size
    assert len({observation for observation, _ in firsts}) == (256 if size == 256 else 1)
    for seed in (size, 2 * size - 1, 2 * size, 10**12):
        observation, info = env.reset(seed=seed)
        assert info["index"] == seed % size
        assert (observation, info) == firsts[seed % size]
    for _ in range(20):
        observation, info = env.reset()
        assert (observation, info) == firsts[info["index"]]


def test_train_seeds_do_not_wrap():
    env = SokobanEnv("Sokoban-v0")
    assert env.reset(seed=256)[1]["index"] == 256
    assert env.reset(seed=256)[1]["instance"] != env.reset(seed=0)[1]["instance"]


def test_a_changed_info_changes_no_later_one():
    env, other = count(), count()
    _, info = env.reset(seed=0)
    other.reset(seed=0)
    for answer in ("Up", "fly", "Stay"):
        info.clear()
        info["instance"] = info["ceiling"] = "mine"
        info = env.step(answer)[4]
        assert info == other.step(answer)[4]
    assert env.reset(seed=0)[1] == other.reset(seed=0)[1]


def test_np_random_is_that_of_gymnasium():
    env = count()
    env.reset(seed=11)
    assert env.np_random_seed == 11
    expected = gymnasium.utils.seeding.np_random(11)[0]
    assert env.np_random.integers(1 << 62, size=5).tolist() == (
        expected.integers(1 << 62, size=5).tolist()
    )
    # A seed starts it afresh, no seed goes on with it, and one from outside is used.
    env.reset(seed=11)
    expected = gymnasium.utils.seeding.np_random(11)[0]
    for _ in range(3):
        index, noise_seed = (int(expected.integers(1 << 62)) for _ in range(2))
        assert env.reset()[1]["index"] == index
        noise = env.noise
        env.index, env.noise_seed = index, noise_seed
        assert env.make_noise_stream().word() == noise
    env.np_random = np.random.default_rng(5)
    assert env.reset()[1]["index"] == int(np.random.default_rng(5).integers(1 << 62))
    assert env.np_random_seed == -1


def test_an_environment_that_was_never_seeded_is_seeded_by_the_system():
    assert count().reset()[1]["index"] != count().reset()[1]["index"]


@pytest.mark.slow
def test_long_answers_are_not_kept():
    env = count()
    env.reset(seed=0)
    env.step("Up")
    tracemalloc.start()
    try:
        for n in range(20):
            env.reset(seed=0)
            env.step("Up || " * (50_000 + n) + "Stay")
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


def test_rendering():
    env = CountEnv("Count-v0", render_mode="ansi")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before render\(\)"):
        env.render()
    env.reset(seed=0)
    assert env.render() == f"№ {env.number}"
    assert count().render() is None


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_continues_alike_and_apart(copied):
    env = count()
    env.reset(seed=1)
    env.step("Up")
    twin = copied(env)
    assert twin.step("Up || Stay") == env.step("Up || Stay")
    twin.step("Up")
    assert twin.number == env.number + 1
    assert twin.turns_left == env.turns_left - 1
    assert twin.reset() == env.reset()


def test_closing_twice_is_fine():
    env = count()
    first = env.reset(seed=1)
    env.close()
    env.close()
    assert env.reset(seed=1) == first


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": True}, ValueError, "a seed is an int of at least 0, got True"),
        ({"seed": False}, ValueError, "a seed is an int of at least 0, got False"),
        ({"seed": -1}, gymnasium.error.Error, "a seed is an int of at least 0, got -1"),
        ({"seed": 1.0}, gymnasium.error.Error, "a seed is an int of at least 0, got 1.0"),
        ({"seed": "3"}, gymnasium.error.Error, "a seed is an int of at least 0, got '3'"),
        ({"seed": 3, "options": {"noise_seed": -1}}, ValueError, "int of at least 0, got -1"),
        ({"seed": 3, "options": {"noise_seed": True}}, ValueError, "int of at least 0, got True"),
        ({"seed": 3, "options": "noise_seed"}, TypeError, "are a dictionary, got 'noise_seed'"),
        ({"seed": 3, "options": []}, TypeError, r"are a dictionary, got \[\]"),
    ],
)
def test_a_refused_reset_changes_nothing(arguments, error, message):
    env, twin = count(), count()
    env.reset(seed=1)
    twin.reset(seed=1)
    with pytest.raises(error, match=message):
        env.reset(**arguments)
    assert env.step("Up") == twin.step("Up")
    assert env.reset() == twin.reset()


def test_numpys_ints_will_do():
    for number in (np.int64(5), np.uint8(5)):
        given = count().reset(seed=number, options={"noise_seed": number})
        assert given == count().reset(seed=5, options={"noise_seed": 5})
        assert type(given[1]["index"]) is int
    assert count().reset(seed=5, options={}) == count().reset(seed=5)
