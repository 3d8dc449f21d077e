import re
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.cube.env import VARIANTS, CubeVariant
from ragen_envs.games.cube.generator import Generator
from ragen_envs.games.cube.rules import ACTIONS
from ragen_envs.games.cube.table import distance
from ragen_envs.games.cube.text import CLASSIC, LETTERS, NEW, WORDS, Notation
from tests.cases import examples
from tests.ragen_envs.games.cube import reference
from tests.ragen_envs.support import blocks, make, state_in

CUBE = ("Cube-v0", "CubeHard-v0", "CubeNewVocab-v0", "CubeMoves-v0")
SPOKEN = {
    f"{face} {way}": face[0] + sign
    for face in ("Up", "Right", "Front")
    for way, sign in (("clockwise", ""), ("counterclockwise", "'"), ("half turn", "2"))
}
LINES = {"top row": (0, 1), "bottom row": (2, 3), "left column": (0, 2), "right column": (1, 3)}


@cache
def shipped(name, split):
    return [rows[0] for _, rows in blocks("cube/cubes", f"{name}-{split}.txt")]


def drawn(stickers, letters="WRGYOB"):
    """Return the net, written once more."""
    shown = stickers.translate(str.maketrans("URFDLB", letters))
    u, r, f, d, left, b = ((shown[i : i + 2], shown[i + 2 : i + 4]) for i in range(0, 24, 4))
    middle = [" ".join(rows) for rows in zip(left, f, r, b, strict=True)]
    return "\n".join([*(f"   {row}" for row in u), *middle, *(f"   {row}" for row in d)])


def test_the_variants():
    budget = Budget(max_turns=5, max_actions_per_turn=5, max_actions=10, penalty=10)
    hard = Budget(max_turns=10, max_actions_per_turn=5, max_actions=20, penalty=10)
    expected = {
        "Cube-v0": (Generator(1, 6), CLASSIC, LETTERS, budget),
        "CubeHard-v0": (Generator(7, 9), CLASSIC, LETTERS, hard),
        "CubeNewVocab-v0": (Generator(1, 6), NEW, LETTERS, budget),
        "CubeMoves-v0": (Generator(1, 6), CLASSIC, WORDS, budget),
    }
    assert set(expected) == set(VARIANTS) == set(CUBE)
    for name, parts in expected.items():
        assert VARIANTS[name] == CubeVariant(name, *parts)
    assert not set(CLASSIC.letters) & set(NEW.letters)
    assert LETTERS.names == ACTIONS
    assert WORDS.names == tuple(SPOKEN)


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Short: instances take up to 6 actions, and the budget"):
        CubeVariant("Short", budget=Budget(max_actions=5))
    with pytest.raises(ValueError, match="Odd: notation is LETTERS or WORDS, got Notation"):
        CubeVariant("Odd", notation=Notation(("a",) * 9, ""))


def test_the_first_observation_in_full():
    env = make("Cube-v0", split="test")
    assert env.reset(seed=0)[0] == (
        "You are turning the faces of a 2x2x2 cube: bring each face to a single colour, whichever "
        "it is.\n"
        "The cube is drawn unfolded, each face as it is seen from outside:\n"
        "  U\n"
        "L F R B\n"
        "  D\n"
        "U is Up, L Left, F Front, R Right, B Back, D Down.\n"
        "Colours: W white, Y yellow, R red, O orange, G green, B blue.\n"
        "Actions: U, U', U2, R, R', R2, F, F', F2.\n"
        "U, R and F turn the Up, Right and Front face by a quarter clockwise, as it is drawn; with "
        "' they turn it counterclockwise, and with 2 by half.\n"
        "A face's own stickers turn with it. Those beside it go along: by a clockwise quarter each "
        "row or column goes to the next one of its line, in the direction given, and the last to "
        "the first.\n"
        "Up: top row of Front rightwards, top row of Left rightwards, top row of Back rightwards, "
        "top row of Right rightwards.\n"
        "Right: right column of Front downwards, right column of Up downwards, left column of Back "
        "upwards, right column of Down downwards.\n"
        "Front: bottom row of Up rightwards, left column of Right downwards, top row of Down "
        "leftwards, right column of Left upwards.\n"
        "You have 5 turns, with at most 5 actions each and 10 in all.\n"
        "\n"
        f"{drawn(shipped('Cube-v0', 'test')[0])}\n"
        "\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>ACTION || ACTION</answer>"
    )


def test_the_rules_of_the_other_variants():
    new = make("CubeNewVocab-v0").reset(seed=0)[0]
    assert "Colours: H, K, M, T, V, X.\n" in new
    words = make("CubeMoves-v0").reset(seed=0)[0]
    assert f"Actions: {', '.join(SPOKEN)}.\nThey turn the Up, Right or Front face by a" in words
    assert (
        "You have 10 turns, with at most 5 actions each and 20 in all."
        in (make("CubeHard-v0").reset(seed=0)[0])
    )


@pytest.mark.parametrize("name", CUBE)
def test_the_rules_say_what_clockwise_turns_do(name):
    """A reader of the rules alone turns the cube as it turns in space."""
    rules = make(name).reset(seed=0)[0]
    start = "abcdefghijklmnopqrstuvwx"
    for face, line in re.findall(r"^(Up|Right|Front): (.*)\.$", rules, re.MULTILINE):
        places = []
        for lane, on, way in re.findall(r"(\w+ \w+) of (\w+) (\w+)", line):
            pair = [4 * "URFDLB".index(on[0]) + i for i in LINES[lane]]
            places.append(pair[::-1] if way in ("leftwards", "upwards") else pair)
        after = list(start)
        for source, goal in zip(places, places[1:] + places[:1], strict=True):
            for a, b in zip(source, goal, strict=True):
                after[b] = start[a]
        own = 4 * "URFDLB".index(face[0])
        for a, b in ((0, 1), (1, 3), (3, 2), (2, 0)):
            after[own + b] = start[own + a]
        assert "".join(after) == reference.play(start, [face[0]])


@pytest.mark.parametrize("name", CUBE)
@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_states_are_the_shipped_cubes_and_the_oracle_solves_them(name, split):
    env = make(name, split=split, response_format="plain", render_mode="ansi")
    letters = "HKMTVX" if "NewVocab" in name else "WRGYOB"
    for seed, stickers in enumerate(shipped(name, split)):
        first, info = env.reset(seed=seed)
        assert state_in(first) == env.render() == drawn(stickers, letters)
        assert (info["ceiling"], env.position) == (1.0, stickers)
        made, over = 0, False
        while not over:
            moves = env.best_actions()
            made += len(moves)
            *_, reward, over, truncated, info = env.step(" || ".join(moves))
            assert not truncated
        assert (made, reward, info["success"]) == (info["optimal_length"], 1.0, True)


@settings(max_examples=examples(60))
@given(
    st.sampled_from(CUBE),
    st.integers(0, 255),
    st.lists(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=7), min_size=1, max_size=10),
)
def test_play_agrees_with_turns_in_space(name, seed, turns):
    env = make(name, split="val", response_format="plain")
    letters = "HKMTVX" if "NewVocab" in name else "WRGYOB"
    names = dict(zip(ACTIONS, SPOKEN if "Moves" in name else ACTIONS, strict=True))
    env.reset(seed=seed)
    stickers, left = shipped(name, "val")[seed], env.budget.max_actions
    for moves in turns:
        run = moves[: min(env.budget.max_actions_per_turn, left)]
        answer = " || ".join(names[move] for move in moves)
        observation, reward, terminated, truncated, info = env.step(answer)
        for move in run:
            left -= 1
            stickers = reference.play(stickers, [move])
            if reference.is_solved(stickers):
                break
        assert observation.partition("\n")[2] == drawn(stickers, letters)
        assert terminated == info["success"] == reference.is_solved(stickers)
        assert reward == (1.0 if terminated else 0.0)
        assert info["actions_left"] == left
        assert info["action_is_effective"]
        if terminated or truncated:
            assert terminated or left == 0 or info["turn"] == env.budget.max_turns
            break


def test_the_oracle_goes_on_from_anywhere():
    env = make("CubeHard-v0", split="val", response_format="plain")
    for seed in range(20):
        env.reset(seed=seed)
        env.step("R || U2 || F'")
        before = distance(env.position)
        env.step(" || ".join(env.best_actions()))
        assert distance(env.position) == before - 5


def test_an_answer_without_a_move_costs_and_turns_nothing():
    env = make("Cube-v0", split="val", response_format="plain")
    env.reset(seed=3)
    observation, reward, *_, info = env.step("L")
    assert reward == -0.1
    assert observation.partition("\n")[2] == drawn(shipped("Cube-v0", "val")[3])
    assert not info["action_is_effective"]
    assert not info["action_is_valid"]


def test_moves_are_read_in_any_case():
    env = make("Cube-v0", split="val", response_format="plain")
    env.reset(seed=3)
    env.step("u' || r2")
    assert env.position == reference.play(shipped("Cube-v0", "val")[3], ["U'", "R2"])


def test_held_out_play_makes_no_table():
    code = (
        "import gymnasium, ragen_envs, ragen_envs.games.cube\n"
        "from ragen_envs.games.cube.table import table\n"
        "from ragen_envs.games.cube.table import positions\n"
        "env = gymnasium.make('ragen/CubeHard-v0', split='test', response_format='plain')\n"
        "env.reset(seed=0); env.step('U || R || F2')\n"
        "print(table.cache_info().currsize, positions.cache_info().currsize)\n"
        "gymnasium.make('ragen/Cube-v0').reset(seed=0)\n"
        "print(table.cache_info().currsize)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "0 0\n1\n"
