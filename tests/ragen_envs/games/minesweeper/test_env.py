import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.minesweeper.env import VARIANTS, MinesweeperVariant
from ragen_envs.games.minesweeper.generator import Generator
from ragen_envs.games.minesweeper.players import Solver
from ragen_envs.games.minesweeper.rules import Opening
from tests.cases import examples
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.support import blocks, chi_square, make, rare, state_in

NAME = "Minesweeper-v0"
COLUMNS = "ABCDEFGH"


def started(seed, rollout=0, split="val", name=NAME):
    env = make(name, split=split, response_format="plain", render_mode="ansi")
    env.reset(seed=seed, options={"noise_seed": rollout})
    return env


def read(state):
    """Return the rows and the mines of a state's text."""
    counts, columns, *lines = state.split("\n")
    mines, to_open = map(
        int, re.fullmatch(r"Mines: (\d+)\. Squares to open: (\d+)\.", counts).groups()
    )
    rows = ["".join(line.split()[1:]) for line in lines]
    assert [line.split()[0] for line in lines] == [str(y + 1) for y in range(len(rows))]
    assert columns.split() == list(COLUMNS[: len(rows[0])])
    assert to_open == sum(map(len, rows)) - sum(map(str.isdigit, "".join(rows))) - mines
    return rows, mines


def place_of(name):
    return int(name[1:]) - 1, COLUMNS.index(name[0])


def name_of(place):
    return f"{COLUMNS[place[1]]}{place[0] + 1}"


def test_the_variant():
    budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20, penalty=10)
    assert VARIANTS[NAME] == MinesweeperVariant(NAME, Generator(), budget)
    assert Generator() == Generator(4, 5, 3, 6, 2, 15, 150)


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Odd: a turn opens one square, and shows it"):
        MinesweeperVariant("Odd", budget=Budget(20, 2, 20))
    with pytest.raises(ValueError, match="Short: there are up to 15 squares to open, and the"):
        MinesweeperVariant("Short", budget=Budget(14, 1, 20))
    MinesweeperVariant("Fits", Generator(max_to_open=14), Budget(14, 1, 14))
    with pytest.raises(ValueError, match="Known: expected goes with a generator of max_layouts=N"):
        MinesweeperVariant("Known", expected=0.5)
    with pytest.raises(ValueError, match="Unknown: expected goes with a generator of max_layout"):
        MinesweeperVariant("Unknown", Generator(max_layouts=None))


def test_the_first_observation_in_full():
    assert make(NAME, split="test").reset(seed=0)[0] == (
        "You are playing Minesweeper: open every square that has no mine, and none that has one.\n"
        "Symbols: # a closed square; a digit, an open square with so many mines among the squares "
        "around it, diagonal ones included; * a mine that you opened.\n"
        "Opening a square with 0 opens the squares around it too, and so on from each further 0.\n"
        "Some squares are open from the start. All ways to place the mines that they allow are "
        "equally likely.\n"
        "Each turn, name one closed square: the letter of its column, then the number of its row. "
        "There are no flags.\n"
        "You have 20 turns.\n"
        "\n"
        "Mines: 3. Squares to open: 7.\n"
        "  A B C D\n"
        "1 0 0 0 0\n"
        "2 1 1 1 0\n"
        "3 # # 2 1\n"
        "4 # # # #\n"
        "5 # # # #\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>SQUARE</answer>"
    )


@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_states_are_the_shipped_openings(split):
    env = make(NAME, split=split)
    shipped = blocks("minesweeper/openings", f"{NAME}-{split}.txt")
    for seed, (figures, rows) in enumerate(shipped):
        first, info = env.reset(seed=seed)
        assert read(state_in(first)) == (rows, int(figures["mines"]))
        assert info["ceiling"] == float(figures["ceiling"])
        assert info["legal_actions"] == tuple(map(name_of, reference.places(rows)))


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.integers(0, 255), st.integers(0, 9), st.lists(st.integers(0, 24), min_size=20, max_size=20)
)
def test_play_agrees_with_a_plain_flood_fill_and_plain_counting(seed, rollout, choices):
    """Boards, ends, rewards, and the chances of `info` from the text that stood there before."""
    env = started(seed, rollout)
    rows, mines = read(env.render())
    possible = reference.layouts(rows, mines)
    for turn, choice in enumerate(choices, 1):
        place = reference.places(rows)[choice % len(reference.places(rows))]
        opened, risks = reference.opened_of(rows), reference.risks(rows, mines)
        observation, reward, terminated, truncated, info = env.step(name_of(place))
        after, _ = read(observation.partition("\n")[2])
        if place in opened:
            assert after == rows
            told = (0.0, 0.0, 0.0)
        else:
            least = min(risks.values())
            told = (float(risks[place]), float(risks[place] == least), float(least == 0))
        assert (info["risk"], info["least_risky"], info["safe_square"]) == told
        assert info["action_is_effective"] == (place not in opened)
        if after[place[0]][place[1]] == "*":
            assert risks[place] > 0
            assert (reward, terminated, info["success"]) == (0.0, True, False)
            break
        explained = [
            each
            for each in possible
            if place not in each
            and reference.drawn(rows, each, reference.flooded(rows, each, opened, place)) == after
        ]
        possible = possible if place in opened else explained
        assert possible
        won = "".join(after).count("#") == mines
        assert (terminated, info["success"], reward) == (won, won, float(won))
        assert truncated == (turn == 20 and not won)
        rows = after
        if terminated:
            break


def from_text_alone(state):
    """Return the best player's square for the text of a state, and nothing else."""
    rows, mines = read(state)
    best = Solver(Opening("\n".join(rows), mines))
    return name_of(divmod(best.best_square(best.start), len(rows[0])))


@settings(max_examples=examples(40))
@given(st.sampled_from(["train", "val"]), st.integers(0, 255), st.integers(0, 99))
def test_the_oracle_s_square_is_a_function_of_what_is_shown(split, seed, rollout):
    env = started(seed, rollout, split)
    while env.legal_actions:
        (square,) = env.best_actions()
        assert square == from_text_alone(env.render())
        env.step(square)


@given(st.integers(0, 255))
def test_rollouts_that_show_the_same_are_answered_the_same(seed):
    answered = {}
    for rollout in range(6):
        env = started(seed, rollout)
        while env.legal_actions:
            (square,) = env.best_actions()
            assert answered.setdefault(env.render(), square) == square
            env.step(square)


def test_the_ceiling_is_the_share_of_layouts_that_the_oracle_wins():
    """Over rollouts that between them meet every layout, each layout weighed once."""
    for seed in range(12):
        env = started(seed)
        count = len(env.knowledge.layouts)
        if count > 12:
            continue
        won = {}
        for rollout in range(40 * count):
            env.reset(seed=seed, options={"noise_seed": rollout})
            layout, success = env._mines, False
            while env.legal_actions and layout not in won:
                *_, info = env.step(env.best_actions()[0])
                success = info["success"]
            won.setdefault(layout, success)
        assert len(won) == count
        assert info["ceiling"] == round(float(Fraction(sum(won.values()), count)), 9)


def test_all_layouts_are_equally_likely_in_rollouts():
    env = started(0)
    layouts = env.knowledge.layouts
    met = Counter()
    for rollout in range(60 * len(layouts)):
        env.reset(seed=0, options={"noise_seed": rollout})
        met[env._mines] += 1
    assert set(met) == set(layouts)
    assert chi_square([met[each] for each in layouts], [1] * len(layouts)) < rare(len(layouts) - 1)


@pytest.mark.parametrize("answer", ["Z9", "", "A6", "flag A1"])
def test_what_names_no_square_costs_and_opens_nothing(answer):
    env = started(3)
    env.step(env.best_actions()[0])
    before = env.render()
    observation, reward, *_, info = env.step(answer)
    assert observation.partition("\n")[2] == before
    assert (reward, info["action_is_effective"]) == (-0.1, False)
    assert (info["risk"], info["least_risky"], info["safe_square"]) == (0.0, 0.0, 0.0)


def test_squares_are_read_in_any_case():
    one, other = started(3), started(3)
    square = one.best_actions()[0]
    assert one.step(square) == other.step(f" {square.lower()} ")
