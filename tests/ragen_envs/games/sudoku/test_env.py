from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.sudoku.env import VARIANTS, SudokuVariant
from ragen_envs.games.sudoku.generator import Generator
from tests.cases import examples
from tests.ragen_envs.games.sudoku import reference
from tests.ragen_envs.support import blocks, make, state_in

NAMES = list(reference.SIZES)


@cache
def shipped(name, split):
    found = blocks("sudoku/puzzles", f"{name}-{split}.txt")
    return [(rows, reference.rows_of(fields["solution"])) for fields, rows in found]


def started(name, seed, split="val"):
    env = make(name, split=split, response_format="plain", render_mode="ansi")
    env.reset(seed=seed)
    return env


def test_the_variants():
    assert {
        "Sudoku-v0": SudokuVariant("Sudoku-v0", Generator(4, 2, 11), Budget(5, 5, 15, 10)),
        "SudokuLarge-v0": SudokuVariant(
            "SudokuLarge-v0", Generator(6, 12, 26), Budget(8, 5, 30, 10)
        ),
    } == VARIANTS


def test_variants_that_cannot_be_played_are_refused():
    with pytest.raises(ValueError, match="Short: instances take up to 11 actions, and the budget"):
        SudokuVariant("Short", budget=Budget(max_actions=10))


def test_the_first_observation_in_full():
    assert make("SudokuLarge-v0", split="test").reset(seed=0)[0] == (
        "You are playing Sudoku: fill the grid so that each row, each column and each box of 2 "
        "rows and 3 columns has each digit from 1 to 6 once. There is exactly one solution.\n"
        "Symbols: . an empty cell; a digit, given; a digit with *, entered by you.\n"
        "An action enters a digit into a cell: the letter of its column, the number of its row, = "
        "and the digit. A new entry replaces your earlier one in the cell; given digits stay.\n"
        "Wrong entries are accepted and not reported. The game ends as soon as the grid is the "
        "solution.\n"
        "You have 8 turns, with at most 5 actions each and 30 in all.\n"
        "\n"
        "  A  B  C | D  E  F\n"
        "1 5  .  . | .  .  .\n"
        "2 .  4  . | 5  .  3\n"
        "----------+---------\n"
        "3 .  6  5 | 2  .  .\n"
        "4 .  2  4 | 1  .  .\n"
        "----------+---------\n"
        "5 4  3  . | .  5  .\n"
        "6 .  .  6 | .  .  .\n"
        "\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>CELL=DIGIT || CELL=DIGIT</answer>"
    )
    small = make("Sudoku-v0").reset(seed=0)[0]
    assert "each box of 2 rows and 2 columns has each digit from 1 to 4 once" in small
    assert "You have 5 turns, with at most 5 actions each and 15 in all." in small


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", NAMES)
def test_held_out_states_are_the_shipped_puzzles_and_the_oracle_solves_them(name, split):
    env = make(name, split=split, response_format="plain", render_mode="ansi")
    for seed, (givens, solution) in enumerate(shipped(name, split)):
        first, info = env.reset(seed=seed)
        assert state_in(first) == env.render() == reference.draw(givens, givens)
        assert (info["ceiling"], info["wrong"]) == (1.0, 0)
        assert info["optimal_length"] == info["empty"] == "".join(givens).count(".")
        made, total, over = 0, 0.0, False
        while not over:
            moves = env.best_actions()
            made += len(moves)
            _, reward, over, truncated, info = env.step(" || ".join(moves))
            total += reward
            assert not truncated
        assert (made, total, info["success"]) == (info["optimal_length"], 1.0, True)
        assert env.render() == reference.draw(givens, solution)


@settings(max_examples=examples(80))
@given(st.sampled_from(NAMES), st.integers(0, 255), st.data())
def test_play_agrees_with_a_grid_filled_by_hand(name, seed, data):
    """States, counts, rewards and ends; most entries are right, so that some episodes are won."""
    env = started(name, seed)
    givens, solution = shipped(name, "val")[seed]
    size, left = len(givens), env.budget.max_actions
    rows = [list(row) for row in givens]
    for turn in range(1, env.budget.max_turns + 1):
        cells = [(y, x) for y in range(size) for x in range(size) if rows[y][x] == "."]
        cells = cells or [(0, 0)]
        entries = []
        for number in range(data.draw(st.integers(1, 7))):
            y, x = cells[number % len(cells)]
            digit = solution[y][x]
            if data.draw(st.integers(0, 9)) == 0:
                y, x = (data.draw(st.integers(0, size - 1)) for _ in "yx")
                digit = str(data.draw(st.integers(1, size)))
            entries.append((y, x, digit))
        run = entries[: min(5, left)]
        answer = " || ".join(f"{'ABCDEF'[x]}{y + 1}={digit}" for y, x, digit in entries)
        observation, reward, terminated, truncated, info = env.step(answer)
        before = [row.copy() for row in rows]
        for y, x, digit in run:
            left -= 1
            if givens[y][x] == ".":
                rows[y][x] = digit
            if ["".join(row) for row in rows] == solution:
                break
        shown = ["".join(row) for row in rows]
        assert observation.partition("\n")[2] == reference.draw(givens, shown)
        cells = [*zip("".join(shown), "".join(solution), strict=True)]
        assert info["empty"] == sum(digit == "." for digit, _ in cells)
        assert info["wrong"] == sum(digit not in (".", right) for digit, right in cells)
        if before != rows:
            assert info["action_is_effective"]
        assert terminated == info["success"] == (shown == solution)
        assert reward == info["score"] == float(terminated)
        assert info["actions_left"] == left
        assert truncated == (not terminated and (left == 0 or turn == env.budget.max_turns))
        if terminated or truncated:
            break


def small():
    """Return the test puzzle 2... / .324 / .2.1 / ..4., whose solution is 2413 1324 4231 3142."""
    return started("Sudoku-v0", 35, "test")


def test_wrong_entries_are_accepted_unreported_and_replaced():
    env = small()
    observation, reward, terminated, _, info = env.step("B1=1 || B1=4 || C1=3")
    assert observation == (
        "Done: B1=1, B1=4, C1=3. Reward: 0. Remaining: 4 turns, 12 actions.\n"
        "  A  B | C  D\n"
        "1 2  4*| 3* .\n"
        "2 .  3 | 2  4\n"
        "-------+------\n"
        "3 .  2 | .  1\n"
        "4 .  . | 4  ."
    )
    assert (reward, terminated, info["wrong"], info["empty"]) == (0.0, False, 1, 7)
    assert env.best_actions() == ("C1=1", "D1=3", "A2=1", "A3=4", "C3=3")


@pytest.mark.parametrize("entry", ["B2=1", "B2=3"])
def test_given_digits_stay(entry):
    env = small()
    before = env.render()
    _, reward, *_, info = env.step(entry)
    assert env.render() == before
    assert (reward, info["actions_left"]) == (0.0, 14)
    assert info["action_is_valid"]
    assert not info["action_is_effective"]


@pytest.mark.parametrize("answer", ["", "B1", "B1=0", "B1=5", "E1=1", "A5=1", "1B=1", "B1=4=4"])
def test_malformed_actions_cost_and_enter_nothing(answer):
    env = small()
    before = env.render()
    observation, reward, *_, info = env.step(answer)
    assert observation.partition("\n")[2] == before
    assert (reward, info["action_is_valid"], info["actions_left"]) == (-0.1, False, 15)


def test_known_actions_beside_unknown_ones_are_run():
    _, reward, *_, info = small().step("B1=4 || A1=9 || C1=1")
    assert (reward, info["empty"], info["actions_left"]) == (-0.1, 7, 13)


@pytest.mark.parametrize("answer", ["b1=4||c1=1", "B1 = 4 || C1 = 1", "\tB1= 4 ||c 1=1\n"])
def test_neither_case_nor_blanks_matter(answer):
    assert small().step("B1=4 || C1=1") == small().step(answer)


def test_the_same_entry_twice_changes_nothing_and_counts():
    env = small()
    env.step("B1=4")
    *_, info = env.step("B1=4")
    assert (info["action_is_effective"], info["actions_left"]) == (False, 13)
