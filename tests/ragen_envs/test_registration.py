"""What the table of ids promises: names, first observations, goldens."""

import hashlib
import json
import os
import random
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ragen_envs
from ragen_envs.core.policies import random_answer
from ragen_envs.registration import (
    GAMES,
    OPPONENT_IDS,
    find_game,
    find_variant,
    load_class,
    load_harness_class,
)
from tests.ragen_envs.playing import oracle, play
from tests.ragen_envs.support import ID_SPLITS, IDS, make

ROOT = Path(ragen_envs.__file__).parent.parent


def test_released_ids_stay_in_order():
    released = (
        "ragen/Bandit-v0",
        "ragen/BanditRev-v0",
        "ragen/BanditMultiPull-v0",
        "ragen/Sokoban-v0",
        "ragen/SokobanLarge-v0",
        "ragen/SokobanNewVocab-v0",
        "ragen/SokobanCoord-v0",
        "ragen/FrozenLake-v0",
        "ragen/FrozenLakeMild-v0",
        "ragen/FrozenLakeLarge-v0",
        "ragen/FrozenLakeNewVocab-v0",
        "ragen/FrozenLakeCoord-v0",
        "ragen/WebShop-v0",
        "ragen/WebShopFull-v0",
        "ragen/WebShopText-v0",
        "ragen/TwentyQuestions-v0",
        "ragen/TwentyQuestionsNewCategories-v0",
        "ragen/Cube-v0",
        "ragen/CubeHard-v0",
        "ragen/CubeNewVocab-v0",
        "ragen/CubeMoves-v0",
        "ragen/Minesweeper-v0",
        "ragen/MinesweeperLarge-v0",
        "ragen/Mastermind-v0",
        "ragen/MastermindLarge-v0",
        "ragen/Countdown-v0",
        "ragen/CountdownLarge-v0",
        "ragen/Desk-v0",
        "ragen/DeskShifting-v0",
        "ragen/DeskHostile-v0",
        "ragen/Sudoku-v0",
        "ragen/SudokuLarge-v0",
        "ragen/Search-v0",
    )
    assert tuple(id_ for id_ in IDS if id_ in released) == released
    registered = {id_ for id_ in gymnasium.registry if id_.startswith("ragen/")}
    assert registered == {*IDS, *OPPONENT_IDS}


@pytest.mark.parametrize("id_", IDS)
def test_an_id_has_its_class_and_its_variant(id_):
    cls, name = load_class(id_), id_.partition("/")[2]
    assert cls.variants[name].name == name
    env = make(name)
    assert type(env) is cls
    assert env.variant is cls.variants[name]
    assert env.spec.id == f"ragen/{name}"


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_spec_agrees_with_its_class_and_its_folder(game):
    game.check()
    cls = load_class(game.ids[0])
    assert cls.game == game.name
    assert cls.__module__ == f"ragen_envs.games.{game.name.replace('-', '_')}.env"
    assert set(cls.variants) == {variant.name for variant in game.variants}
    assert game.labels


def test_games_with_an_opponent_are_listed_separately():
    assert set(OPPONENT_IDS).isdisjoint(IDS)
    for id_ in OPPONENT_IDS:
        made, name = make(id_, answerer=str), id_.partition("/")[2]
        assert type(made) is load_class(id_)
        assert isinstance(made, load_harness_class(id_))
        assert made.variant is load_harness_class(id_).variants[name]
        assert made.variant.name == name
    for id_ in IDS:
        assert load_harness_class(id_) is load_class(id_)


@pytest.mark.parametrize("find", [load_class, load_harness_class, find_game, find_variant])
def test_an_unknown_id_is_a_key_error(find):
    with pytest.raises(KeyError):
        find("ragen/Chess-v0")


@pytest.mark.parametrize(("id_", "split"), ID_SPLITS)
def test_check_env_has_nothing_to_say(id_, split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(id_, split=split))
        check_env(make(id_, split=split, render_mode="ansi", response_format="plain"))


def digest_of_firsts(id_, split, seeds=range(25)):
    env = make(id_, split=split)
    text = "\0".join(env.reset(seed=seed)[0] for seed in seeds)
    return hashlib.sha256(text.encode()).hexdigest()


PROBE = """
import hashlib, json, random, sys
import numpy
if {seed} is not None:
    random.seed({seed})
    numpy.random.seed({seed})
import gymnasium
import ragen_envs
before = random.getstate(), numpy.random.get_state()[1].tolist()
digests = {{}}
for id_ in ragen_envs.IDS:
    for split in ("train", "val", "test"):
        env = gymnasium.make(id_, split=split).unwrapped
        text = "\\0".join(env.reset(seed=seed)[0] for seed in range(25))
        digests[id_ + " " + split] = hashlib.sha256(text.encode()).hexdigest()
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before
        if {seed} is not None:
            random.random()
            numpy.random.random()
            before = random.getstate(), numpy.random.get_state()[1].tolist()
        env.reset()
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before
print(json.dumps(digests))
"""


@pytest.mark.slow
def test_first_observations_are_equal_in_other_processes():
    found = []
    for hash_seed, seed in (("0", None), ("1", 7), ("4242", 8)):
        ran = subprocess.run(
            [sys.executable, "-c", PROBE.format(seed=seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        found.append(json.loads(ran.stdout))
    here = {f"{id_} {split}": digest_of_firsts(id_, split) for id_, split in ID_SPLITS}
    assert found == [here] * 3


@pytest.mark.slow
def test_first_observations_are_equal_in_threads():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(digest_of_firsts, *zip(*ID_SPLITS * 2, strict=True)))
    assert found == [digest_of_firsts(id_, split) for id_, split in ID_SPLITS] * 2


@pytest.mark.parametrize("name", ["Sokoban-v0", "WebShop-v0"])
def test_a_clean_process_imports_little(name):
    code = (
        "import sys, gymnasium\n"
        f"env = gymnasium.make('ragen_envs:ragen/{name}', split='test')\n"
        "print(len(env.reset(seed=0)[0]))\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}\n"
        "    & {'torch', 'transformers', 'ragen_bench', 'ragen_starpo', 'rich', 'jinja2',\n"
        "       'bm25s', 'rapidfuzz', 'spacy'}))\n"
        "print(*(name for name in sys.modules if name.startswith('ragen_envs.games.webshop.')\n"
        "    and not name.endswith('.spec')))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    length, imported, of_the_shop = ran.stdout.split("\n")[:3]
    assert int(length) == len(make(name, split="test").reset(seed=0)[0])
    assert imported == ""
    assert bool(of_the_shop) == ("WebShop" in name)


@pytest.mark.parametrize("id_", IDS)
def test_episodes_neither_read_nor_write_the_global_generators(id_):
    told = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = random.getstate(), np.random.get_state()[1].tolist()
        env = make(id_)
        env.reset(seed=3)
        told.append([env.reset()])
        for policy in (random_answer, oracle):
            told[-1] += play(env, 5, policy)
        told[-1] += play(make(id_, split="val"), 5, random_answer)
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert told[0] == told[1]


GOLDEN = {
    "ragen/Bandit-v0": "36908178b010edf0",
    "ragen/BanditRev-v0": "0103bb7eebb7a779",
    "ragen/BanditMultiPull-v0": "ff44026fa12a0574",
    "ragen/Sokoban-v0": "59dc9945b53ce202",
    "ragen/SokobanLarge-v0": "fb768860bff6059c",
    "ragen/SokobanNewVocab-v0": "2e267e9c581fc8ce",
    "ragen/SokobanCoord-v0": "cd078d370033920b",
    "ragen/FrozenLake-v0": "c3fbf7c05f6ed484",
    "ragen/FrozenLakeMild-v0": "07b85a7cb7b2abf5",
    "ragen/FrozenLakeLarge-v0": "dc9543ce054f99b8",
    "ragen/FrozenLakeNewVocab-v0": "483524a1ece825dd",
    "ragen/FrozenLakeCoord-v0": "9be846dfa3efd9ae",
    "ragen/WebShop-v0": "8a948d04d9f1980a",
    "ragen/WebShopFull-v0": "07ea9b79d3f932f8",
    "ragen/WebShopText-v0": "c1db27b22b8e9a8a",
    "ragen/TwentyQuestions-v0": "b3e0d94e481e7004",
    "ragen/TwentyQuestionsNewCategories-v0": "e405c1d612cbb36d",
    "ragen/Cube-v0": "0e52f345375d5374",
    "ragen/CubeHard-v0": "1eaca431b3744aff",
    "ragen/CubeNewVocab-v0": "6aaa03b3f8ca284a",
    "ragen/CubeMoves-v0": "2950e9e7362f6c3e",
    "ragen/Minesweeper-v0": "96ec0c7f2558db56",
    "ragen/MinesweeperLarge-v0": "0b6b5c47751e446d",
    "ragen/Mastermind-v0": "4147e23319189407",
    "ragen/MastermindLarge-v0": "71e3125f5d2b0533",
    "ragen/Countdown-v0": "47875c9f704919e3",
    "ragen/CountdownLarge-v0": "ef72d51294600112",
    "ragen/Desk-v0": "7bd45474b0b513f4",
    "ragen/DeskShifting-v0": "f2d86eaeed89ae0c",
    "ragen/DeskHostile-v0": "f51339d1c8fa72d6",
    "ragen/Sudoku-v0": "71d38df90736061a",
    "ragen/SudokuLarge-v0": "45122baef75c5977",
    "ragen/Search-v0": "d100311c308bdace",
    "ragen/TwentyFortyEight-v0": "bb0b21be472df1f6",
}


def golden(id_):
    """Return the digest of what an id says: levels, rules, prompts, rewards, noise and figures."""
    told = []
    for split in ("train", "val", "test"):
        for form in ("think", "answer", "plain"):
            env = make(id_, split=split, response_format=form, oracle_info=True)
            for seed in range(6):
                told += play(env, seed, random_answer if seed < 4 else oracle, rollout=seed)
    for said in told:
        said[-1]["ceiling"] = f"{said[-1]['ceiling']:.6f}"  # beyond, libraries may round apart
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


@pytest.mark.parametrize("id_", GOLDEN)
def test_an_id_never_changes_silently(id_):
    """A change here is a new version of the id (-v1), unless the id was never released."""
    assert golden(id_) == GOLDEN[id_]
