"""The classical agent: its arrays are the game's own, its turns the network's, and it is played."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import flatten

from ragen_bench.models.prompt import conversation
from ragen_envs.core.protocol import format_answer
from tests.ragen_bench.cli.command import run
from tests.ragen_envs.support import FROZEN_LAKE, SOKOBAN, make

EXAMPLES = Path(__file__).parents[2] / "examples"
INSTANCES = 60


@pytest.fixture
def package(monkeypatch):
    """The example, imported from its folder."""
    monkeypatch.syspath_prepend(EXAMPLES)
    import ppo_player.network
    import ppo_player.reading
    import ppo_player.trained

    yield ppo_player
    for name in [name for name in sys.modules if name.partition(".")[0] == "ppo_player"]:
        del sys.modules[name]


def same(read, observed):
    """Whether names, types and numbers are equal."""
    return read.keys() == observed.keys() and all(
        read[name].dtype == observed[name].dtype and np.array_equal(read[name], observed[name])
        for name in read
    )


@pytest.mark.parametrize("history", [None, 0])
@pytest.mark.parametrize("id_", [*SOKOBAN, *FROZEN_LAKE])
def test_what_it_reads_is_the_games_own_arrays(package, id_, history):
    arrays, texts = make(id_, observation="array", split="val"), make(id_, split="val")
    tiles = package.trained.SOKOBAN if id_ in SOKOBAN else package.trained.FROZEN_LAKE
    assert tiles == tuple(tile.meaning for tile in arrays.board.tiles)
    chance = np.random.default_rng(0)
    turns = 0
    for seed in range(INSTANCES):
        observed, _ = arrays.reset(seed=seed)
        told, answers, over = [texts.reset(seed=seed)[0]], [], False
        while True:
            messages = conversation(told, answers, texts.response_format, history)
            assert same(package.reading.arrays_of(messages, tiles), observed)
            if over:
                break
            turn = chance.integers(0, arrays.action_space.nvec)
            answers.append(format_answer(arrays.names_of(turn), texts.response_format))
            observed, reward, terminated, truncated, _ = arrays.step(turn)
            text, *outcome = texts.step(answers[-1])
            assert outcome[:3] == [reward, terminated, truncated]
            told.append(text)
            turns, over = turns + 1, terminated or truncated
    assert turns > 1.5 * INSTANCES


@pytest.mark.parametrize("id_", ["Bandit-v0", "Cube-v0"])
def test_what_shows_no_grid_is_refused(package, id_):
    text, _ = make(id_).reset(seed=0)
    with pytest.raises(ValueError, match="no message tells the symbols of a grid and a budget"):
        package.reading.arrays_of([{"role": "user", "content": text}], package.trained.SOKOBAN)
    rules = make("Sokoban-v0").reset(seed=0)[0].split("\n\n", maxsplit=1)[0]
    with pytest.raises(ValueError, match="the last message shows no grid"):
        package.reading.arrays_of([{"role": "user", "content": rules}], package.trained.SOKOBAN)


def test_the_network_sees_the_vector_that_it_was_trained_on(package):
    env = make("FrozenLake-v0", observation="array", split="val")
    observed, _ = env.reset(seed=0)
    vector = flatten(env.observation_space, observed)
    chance = np.random.default_rng(0)
    first, second = chance.normal(size=(7, len(vector))), chance.normal(size=(25, 7))
    weights = {"weight0": first, "bias0": np.ones(7), "weight1": second, "bias1": np.zeros(25)}
    scores = (second @ np.tanh(first @ vector + 1)).reshape(5, 5)
    turn = package.network.turn_of(observed, weights, 4)
    assert turn == scores.argmax(axis=1).tolist() == [1, 0, 0, 1, 3]
    assert np.array(turn) in env.action_space


@pytest.fixture
def trained(tmp_path):
    """A copy of the example, in which made-up weights always play Up, nothing, Down."""
    folder = tmp_path / "ppo_player"
    folder.mkdir()
    for source in (EXAMPLES / "ppo_player").glob("*.py"):
        shutil.copy(source, folder)
    bias = np.zeros((5, 5), np.float32)
    bias[range(5), [1, 0, 3, 0, 0]] = 1
    weights = {"weight0": np.zeros((25, 98), np.float32), "bias0": bias.ravel()}
    np.savez(folder / "FrozenLake-v0.npz", **weights)
    made = hashlib.sha256((folder / "FrozenLake-v0.npz").read_bytes()).hexdigest()
    table = folder / "trained.py"
    line = r'("FrozenLake-v0.npz",\s+)"[0-9a-f]*"'
    written, count = re.subn(line, rf'\1"{made}"', table.read_text(encoding="utf-8"))
    assert count == 1
    table.write_text(written, encoding="utf-8")
    return folder


def played(folder, *options):
    command = ["evaluate", "python:ppo_player:Player", "--limit", "2", "--out", "run", *options]
    return run(*command, cwd=folder.parent)


@pytest.mark.slow
def test_it_plays_with_its_policy_and_else_what_is_listed_first(trained):
    done = played(trained, "--env", "FrozenLake-v0", "--env", "Bandit-v0")
    assert done.returncode == 0, done.stderr
    lines = (trained.parent / "run/episodes.jsonl").read_text(encoding="utf-8").splitlines()
    lakes, bandits = lines[:2], lines[2:]
    said = {turn["answer"] for line in lakes for turn in json.loads(line)["turns"]}
    assert said == {"<think></think><answer>Up || Down</answer>"}
    first = [make("Bandit-v0", split="test").reset(seed=s)[1]["legal_actions"][0] for s in (0, 1)]
    assert [json.loads(line)["turns"][0]["actions"] for line in bandits] == [[n] for n in first]


def test_other_weights_than_the_named_ones_are_refused(trained):
    with (trained / "FrozenLake-v0.npz").open("ab") as file:
        file.write(b"\0")
    done = played(trained, "--env", "FrozenLake-v0")
    assert done.returncode == 1
    assert "FrozenLake-v0.npz holds other weights than TRAINED names" in done.stderr
