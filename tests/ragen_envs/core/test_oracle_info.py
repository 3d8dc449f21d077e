"""The oracle's entries of `info`: in train without those that a solver would be needed for."""

import gymnasium
import pytest

import ragen_envs
from ragen_envs.core.vector import TextVectorEnv
from ragen_envs.games.frozen_lake import env as frozen_lake
from ragen_envs.games.mastermind import env as mastermind
from ragen_envs.games.minesweeper import players

SOLVED = [
    id_
    for id_ in ragen_envs.IDS
    if id_.startswith(("ragen/FrozenLake", "ragen/Mastermind")) or id_ == "ragen/Minesweeper-v0"
]
OTHERS = [id_ for id_ in ragen_envs.IDS if id_ not in SOLVED]


@pytest.fixture
def without_solvers(monkeypatch):
    def fail(*_):
        raise AssertionError("the reset solved the instance")

    for module in (frozen_lake, mastermind, players):
        monkeypatch.setattr(module, "ceiling", fail)


def keys(env):
    return set(env.reset(seed=5)[1])


@pytest.mark.parametrize("id_", SOLVED)
def test_train_resets_and_steps_solve_nothing(id_, without_solvers):
    env = gymnasium.make(id_)
    _, info = env.reset(seed=3)
    assert "ceiling" not in info
    assert "ceiling" not in env.step(f"<answer>{info['legal_actions'][0]}</answer>")[-1]
    assert 0 < gymnasium.make(id_, split="test").reset(seed=3)[1]["ceiling"] <= 1


@pytest.mark.parametrize("id_", SOLVED)
def test_the_switch_adds_the_ceiling_and_changes_nothing_else(id_):
    plain, solved = gymnasium.make(id_), gymnasium.make(id_, oracle_info=True)
    for seed in range(4):
        (text, info), (same, more) = plain.reset(seed=seed), solved.reset(seed=seed)
        inner = solved.unwrapped
        assert more == {**info, "ceiling": inner.compute_oracle_info(inner.instance)["ceiling"]}
        assert text == same
        answer = f"<think>x</think><answer>{info['legal_actions'][0]}</answer>"
        turn, other = plain.step(answer), solved.step(answer)
        assert turn[:-1] == other[:-1]
        assert other[-1].keys() - turn[-1].keys() == {"ceiling"}


@pytest.mark.parametrize("id_", OTHERS)
def test_entries_that_take_no_solver_stay_in_train(id_):
    assert keys(gymnasium.make(id_)) == keys(gymnasium.make(id_, oracle_info=True))
    assert "ceiling" in keys(gymnasium.make(id_))


def test_lakes_in_train_keep_their_optimal_length():
    assert gymnasium.make("ragen/FrozenLake-v0").reset(seed=0)[1]["optimal_length"] >= 2


def test_the_switch_may_be_set_between_episodes():
    env = gymnasium.make("ragen/Mastermind-v0").unwrapped
    assert "ceiling" not in keys(env)
    env.oracle_info = True
    assert "ceiling" in keys(env)


@pytest.mark.parametrize("value", [None, 2, "yes"])
def test_another_value_is_refused(value):
    with pytest.raises(ValueError, match=r"oracle_info .* is unknown; choose one of"):
        gymnasium.make("ragen/FrozenLake-v0", oracle_info=value)


@pytest.mark.parametrize("mode", [None, "sync"])
def test_batches_take_the_switch(mode):
    envs = gymnasium.make_vec("ragen/FrozenLake-v0", 3, mode, oracle_info=True)
    assert envs.reset(seed=0)[1]["_ceiling"].all()
    assert "ceiling" not in gymnasium.make_vec("ragen/FrozenLake-v0", 3, mode).reset(seed=0)[1]


def test_a_mixed_batch_masks_the_ceiling():
    makers = [lambda on=on: gymnasium.make("ragen/FrozenLake-v0", oracle_info=on) for on in (0, 1)]
    infos = TextVectorEnv(makers).reset(seed=0)[1]
    assert infos["_ceiling"].tolist() == [False, True]


def test_arrays_take_the_switch():
    env = gymnasium.make("ragen/FrozenLake-v0", observation="array", oracle_info=True)
    assert "ceiling" in keys(env)
