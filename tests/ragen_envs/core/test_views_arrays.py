"""Games as arrays are the text games: played side by side, and read off their texts."""

import copy
import inspect
import pickle
import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.views import ArrayEnv
from ragen_envs.games.sokoban.env import SokobanEnv, SokobanVariant
from ragen_envs.making import board_ids
from ragen_envs.registration import OPPONENT_IDS, load_class
from tests.cases import examples
from tests.ragen_envs.counting import count
from tests.ragen_envs.support import FROZEN_LAKE, IDS, SOKOBAN, make, state_in

ARRAY_IDS = board_ids()
COLOURS = ("white", "red", "green", "yellow", "orange", "blue")
CUBE = ("Cube-v0", "CubeHard-v0", "CubeNewVocab-v0", "CubeMoves-v0")


def meanings(first):
    """Return what each symbol means, as the rules of a first observation tell it."""
    if "playing Minesweeper" in first:
        digits = {str(digit): f"{digit} around it" for digit in range(9)}
        return {**digits, "#": "closed", "*": "a mine that you opened", "!": "no square at all"}
    if "playing Sudoku" in first:
        digits = {f"{digit} ": f"given {digit}" for digit in range(1, 7)}
        return {**digits, **{f"{digit}*": f"your {digit}" for digit in range(1, 7)}, ". ": "empty"}
    if "playing 2048" in first:
        return {".": "empty", **{str(1 << n): f"tile {1 << n}" for n in range(1, 7)}}
    told = re.search("(Symbols|Colours): (.*)\\.", first)
    entries = told[2].split(", ")
    table = {entry[0]: entry[2:].replace("you", "player") for entry in entries}
    if told[1] == "Symbols":
        return table
    renamed = dict(zip("HKMTVX", COLOURS, strict=True)) if "H" in table else table
    return {**renamed, " ": "nothing"}


def left_in(text):
    told = re.search(r"Remaining: (\d+) turns?, (\d+) actions?\.", text)
    return [int(number) for number in told.groups()]


def read(env, observation):
    """Return the meaning of each square of an array, row by row."""
    board = observation["board"]
    assert (board.sum(axis=0) == 1).all()
    tiles = [tile.meaning for tile in env.board.tiles]
    return [[tiles[number] for number in row] for row in board.argmax(axis=0)]


def rows(state, table):
    """Return the meaning of each square of a text; the line of coordinates is left out."""
    if state.startswith("Mines: "):
        grid = ["".join(line.split()[1:]) for line in state.split("\n")[2:]]
        size = max(5, len(grid))  # of the largest board of the variant
        return [[table[s] for s in line.ljust(size, "!")] for line in [*grid, *"!" * size][:size]]
    if state.startswith("  A"):
        grid = [line for line in state.split("\n")[1:] if "--" not in line]
        return [[table[cell] for cell in re.findall(r"[\d.][ *]", f"{line[2:]} ")] for line in grid]
    if "64" in table:  # tiles of several characters
        return [[table[tile] for tile in line.split()] for line in state.split("\n")]
    grid = [line for line in state.split("\n") if not line.startswith("Positions")]
    if " " in table:  # a cube's faces are written with a blank column between them
        grid = [re.sub("(..).", r"\1", line.ljust(12)) for line in grid]
    return [[table[symbol] for symbol in line] for line in grid]


def counts_in(state):
    """Return what a text tells beside its squares."""
    told = re.match(r"Mines: (\d+)\. Squares to open: (\d+)\.", state)
    return [int(number) for number in told.groups()] if told else None


def test_the_ids():
    mines, sudoku = ("Minesweeper-v0", "MinesweeperLarge-v0"), ("Sudoku-v0", "SudokuLarge-v0")
    names = (*SOKOBAN, *FROZEN_LAKE, *CUBE, *mines, *sudoku)
    names += ("TwentyFortyEight-v0",)
    assert {f"ragen/{name}" for name in names} == {*ARRAY_IDS}


def told(observation):
    return observation["counts"].tolist() if "counts" in observation else None


def test_the_largest_board_shows_its_planes_and_its_budget():
    env = make("FrozenLakeLarge-v0", observation="array")
    assert env.observation_space["board"].shape == (6, 8, 8)
    assert env.observation_space["left"].high.tolist() == [10, 30]
    assert env.action_space.nvec.tolist() == [5, 5, 5]


@pytest.mark.parametrize("id_", ARRAY_IDS)
@settings(max_examples=examples(50), deadline=None)
@given(data=st.data())
def test_the_same_turns_give_the_same_episode(id_, data):
    split = data.draw(st.sampled_from(["train", "val", "test"]))
    form = data.draw(st.sampled_from(["think", "answer", "plain"]))
    seed, noise_seed = data.draw(st.integers(0, 300)), data.draw(st.integers(0, 9))
    arrays = make(id_, observation="array", split=split, response_format=form)
    texts = make(id_, split=split, response_format="plain")
    start = {"seed": seed, "options": {"noise_seed": noise_seed}}
    first, info = texts.reset(**start)
    table = meanings(first)
    observation, same = arrays.reset(**start)
    assert same == info
    assert read(arrays, observation) == rows(state_in(first), table)
    assert told(observation) == counts_in(state_in(first))
    assert observation["left"].tolist() == [texts.budget.max_turns, texts.budget.max_actions]
    over = False
    while not over:
        # On a small board of Minesweeper some of the names are no square's.
        slots, known = len(arrays.action_space.nvec), len(arrays.actions)
        assert {*info["legal_actions"]} <= {*arrays.actions}
        turn = data.draw(st.lists(st.integers(0, known), min_size=slots, max_size=slots))
        named = [arrays.actions[number - 1] for number in turn if number]
        text, *outcome = texts.step(" || ".join(named))
        action = np.array(turn)
        assert action in arrays.action_space
        observation, *same = arrays.step(action)
        assert repr(same) == repr(outcome)  # types and signs of zero too
        assert observation in arrays.observation_space
        assert read(arrays, observation) == rows(text.partition("\n")[2], table)
        assert told(observation) == counts_in(text.partition("\n")[2])
        assert observation["left"].tolist() == left_in(text)
        over = outcome[1] or outcome[2]


@pytest.mark.parametrize("id_", ARRAY_IDS)
def test_resets_without_a_seed_draw_the_same_instances(id_):
    arrays, texts = make(id_, observation="array"), make(id_)
    starts = [{"seed": 5}, {}, {}, {"options": {"noise_seed": 2}}]
    assert [arrays.reset(**start)[1] for start in starts] == [
        texts.reset(**start)[1] for start in starts
    ]
    assert arrays.np_random.random() == texts.np_random.random()
    assert arrays.np_random_seed == texts.np_random_seed


@pytest.mark.parametrize("id_", ARRAY_IDS)
@pytest.mark.parametrize("observation", ["text", "array", "image"])
def test_gymnasiums_own_check_finds_nothing(id_, observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(id_, observation=observation, render_mode="rgb_array")
        check_env(env.unwrapped)


@pytest.mark.parametrize("id_", [f"ragen/{name}" for name in (*SOKOBAN, *CUBE)])
def test_the_oracle_solves_its_games_in_arrays(id_):
    env = make(id_, observation="array", split="test")
    for seed in range(20):
        _, info = env.reset(seed=seed)
        moves = 0
        terminated = False
        while not terminated:
            action = env.best_action()
            moves += np.count_nonzero(action)
            _, _, terminated, truncated, told = env.step(action)
            assert not truncated
        assert told["success"]
        assert moves == info["optimal_length"]


@pytest.mark.parametrize("id_", sorted({*IDS, *OPPONENT_IDS} - {*ARRAY_IDS}))
@pytest.mark.parametrize("maker", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize("observation", ["array", "image"])
def test_a_game_without_a_board_names_those_that_have_one(id_, maker, observation):
    with pytest.raises(ValueError, match="has no board") as refused:
        maker(id_, observation=observation)
    assert str(refused.value) == (
        f"{id_} has no board, so it has no observation={observation!r}; choose one of "
        f"{', '.join(ARRAY_IDS)}"
    )


def test_other_observations_and_calls_of_functions_are_refused():
    with pytest.raises(ValueError, match=r"observation 'video' is unknown; choose one of \['text"):
        make("Sokoban-v0", observation="video")
    with pytest.raises(ValueError, match="response_format applies to text observations only"):
        make("Sokoban-v0", observation="array", response_format="tools")
    with pytest.raises(ValueError, match="Count-v0 has no board, so it cannot be arrays"):
        ArrayEnv(count())


@pytest.mark.parametrize(
    "action",
    [(1, 2), (1, 2, 3, 4, 5), (0, 0, 0, 0, -1), (1.0, 0, 0, 0, 0), "11111", 3, None, np.eye(5)],
    ids=repr,
)
def test_an_action_that_is_none_is_refused_and_the_episode_goes_on(action):
    env = make("Sokoban-v0", observation="array", split="test")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="an action is 5 numbers from 0 to 4, 0 for none, got"):
        env.step(action)
    assert env.step((1, 1, 4, 4, 2))[-1]["turn"] == 1
    _, reward, terminated, *_ = env.step([4, 2, 3, 0, 0])
    assert (reward, terminated) == (10.7, True)
    with pytest.raises(ResetNeeded):
        env.step([1, 0, 0, 0, 0])


def test_actions_have_the_names_of_the_texts():
    env = make("FrozenLake-v0", observation="array")
    assert env.action_of(["Left", "Up"]).tolist() == [4, 1, 0, 0, 0]
    assert env.names_of([0, 4, 0, 1, 0]) == ("Left", "Up")
    with pytest.raises(ValueError, match=r"'up' is not an action; choose from \['Up', 'Right'"):
        env.action_of(["up"])
    with pytest.raises(ValueError, match="a turn has at most 5 actions, got 6"):
        env.action_of(["Up"] * 6)


def test_a_variant_of_ones_own_has_its_own_budget():
    budget = Budget(max_turns=300, max_actions_per_turn=12, max_actions=11)
    env = ArrayEnv(SokobanEnv(SokobanVariant("Long", budget=budget)))
    observation, _ = env.reset(seed=0)
    assert observation["left"].tolist() == [300, 11]
    assert observation["left"].dtype == np.uint16
    assert env.action_space.shape == (11,)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_continues_alike_and_leaves_the_original_alone(copied):
    env = make("FrozenLakeLarge-v0", observation="array", split="val")
    before, _ = env.reset(seed=3)
    kept = copy.deepcopy(before)
    twin = copied(env)
    turns = [[1, 2, 3], [4, 0, 2]]
    told = [repr(twin.step(turn)) for turn in turns]
    assert [repr(env.step(turn)) for turn in turns] == told
    assert all((before[key] == kept[key]).all() for key in kept)


@pytest.mark.parametrize("mode", [None, "sync"])
def test_several_at_once_are_the_single_ones(mode):
    id_ = "ragen/FrozenLake-v0"
    envs = gymnasium.make_vec(
        id_, num_envs=3, vectorization_mode=mode, observation="array", split="test"
    )
    observations, infos = envs.reset(seed=7, options={"noise_seed": 4})
    singles = [make(id_, observation="array", split="test") for _ in range(3)]
    firsts = [e.reset(seed=7 + i, options={"noise_seed": 4}) for i, e in enumerate(singles)]
    assert infos["instance"].tolist() == [info["instance"] for _, info in firsts]
    assert (observations["board"] == np.stack([first["board"] for first, _ in firsts])).all()
    turns = np.array([[1, 2, 0, 0, 0], [0, 0, 0, 0, 0], [3, 3, 3, 3, 3]])
    observations, rewards, *_ = envs.step(turns)
    steps = [env.step(turn) for env, turn in zip(singles, turns, strict=True)]
    assert rewards.tolist() == [step[1] for step in steps]
    assert (observations["left"] == np.stack([step[0]["left"] for step in steps])).all()


@pytest.mark.parametrize("id_", [*IDS, *OPPONENT_IDS])
def test_what_makes_an_id_has_the_arguments_of_its_class(id_):
    creator = gymnasium.envs.registration.load_env_creator(gymnasium.spec(id_).entry_point)
    if id_ in IDS:
        game = load_class(id_)
        assert inspect.signature(creator) == inspect.signature(game)
        assert creator.metadata is game.metadata
        assert ("rgb_array" in game.metadata["render_modes"]) == game.has_board()
    assert {"split", "response_format"} <= set(inspect.signature(creator).parameters)
