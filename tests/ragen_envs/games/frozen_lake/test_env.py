import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.games.frozen_lake.env import VARIANTS, FrozenLakeEnv, FrozenLakeVariant
from ragen_envs.games.frozen_lake.rules import ACTIONS, Generator, Lake, Slip
from ragen_envs.games.frozen_lake.text import CLASSIC, NEW
from tests.cases import examples
from tests.ragen_envs.games.frozen_lake import reference
from tests.ragen_envs.support import FROZEN_LAKE, blocks, chi_square, contingency, make, state_in

DIRECTIONS = list(reference.DIRECTIONS.values())
MIDDLE = 12
OPEN = ["F" * 25] * 25


def at_start(symbol_rows, y, x, goal):
    """Return rows with a start and a goal put in."""
    grid = [list(row) for row in symbol_rows]
    grid[y][x], grid[goal[0]][goal[1]] = "S", "G"
    return ["".join(row) for row in grid]


def on(rows, slip=Slip(), name="FrozenLake-v0", split="train", **budget):
    """Return an environment whose only lake is given, with its ceiling said to be 0.5."""

    class Fixed(FrozenLakeEnv):
        def get_instance(self, seed):
            return Lake("\n".join(rows), 0.5)

    variant = FrozenLakeVariant(
        name, slip=slip, coordinates=True, budget=Budget(**{"max_turns": 10, **budget})
    )
    return Fixed(variant, split=split, response_format="plain")


def place(observation):
    return tuple(map(int, re.search(r"you \((\d+), (\d+)\)", observation).groups()))


def slips(env, seed, rollout, actions):
    """Play one action a turn and return the quarter turns that the ice gave each."""
    at = place(state_in(env.reset(seed=seed, options={"noise_seed": rollout})[0]))
    turns = []
    for action in actions:
        after = place(env.step(ACTIONS[action])[0])
        moved = after[0] - at[0], after[1] - at[1]
        turns.append((DIRECTIONS.index(moved) - action) % 4)
        at = after
    return turns


WIDE = at_start(OPEN, MIDDLE, MIDDLE, (0, 0))
OTHER = at_start(["H" + "F" * 23 + "H"] * 25, MIDDLE, MIDDLE - 1, (24, 12))


def test_the_variants():
    budget = Budget(max_turns=5, max_actions_per_turn=5, max_actions=10, penalty=10)
    large = Budget(max_turns=10, max_actions_per_turn=3, max_actions=30, penalty=10)
    expected = {
        "FrozenLake-v0": (Generator(4, 10), Slip(1, 1), CLASSIC, False, budget),
        "FrozenLakeMild-v0": (Generator(4, 10), Slip(8, 1), CLASSIC, False, budget),
        "FrozenLakeLarge-v0": (Generator(8, 8), Slip(1, 1), CLASSIC, False, large),
        "FrozenLakeNewVocab-v0": (Generator(4, 10), Slip(1, 1), NEW, False, budget),
        "FrozenLakeCoord-v0": (Generator(4, 10), Slip(1, 1), CLASSIC, True, budget),
    }
    assert set(expected) == set(VARIANTS) == set(FROZEN_LAKE)
    for name, parts in expected.items():
        assert VARIANTS[name] == FrozenLakeVariant(name, *parts)


def test_the_first_observation_in_full():
    assert make("FrozenLakeCoord-v0").reset(seed=0)[0] == (
        "You are walking on a frozen lake: reach the goal and do not fall into a hole.\n"
        "Symbols: P you, _ ice, O hole, G goal, X you in a hole, √ you on the goal.\n"
        "The ice is slippery: in 3 steps, 1 on average goes where you want, and 1 to each side "
        "of that direction. A step over the edge leaves you where you are.\n"
        "Actions: Up, Right, Down, Left.\n"
        "You have 5 turns, with at most 5 actions each and 10 in all.\n"
        "\n"
        "____\n__PO\nG___\n__OO\n"
        "Positions as (row, column), both from 0 in reading order: you (1, 2); goal (2, 0); "
        "holes (1, 3) (3, 2) (3, 3).\n"
        "\n"
        "First reason, then answer in exactly this form, with || between actions:\n"
        "<think>REASONING</think><answer>ACTION || ACTION</answer>"
    )


def test_the_rules_of_the_other_variants():
    mild = make("FrozenLakeMild-v0").reset(seed=0)[0]
    assert "in 10 steps, 8 on average go where you want, and 1 to each side" in mild
    large = make("FrozenLakeLarge-v0").reset(seed=0)[0]
    assert "You have 10 turns, with at most 3 actions each and 30 in all." in large
    new = make("FrozenLakeNewVocab-v0").reset(seed=0)[0]
    assert "Symbols: A you, . ice, H hole, T goal, D you in a hole, @ you on the goal.\n" in new


@pytest.mark.parametrize("name", FROZEN_LAKE)
@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_states_are_the_shipped_lakes(name, split):
    env = make(name, split=split)
    symbols = "A.HT" if "NewVocab" in name else "P_OG"
    for seed, (figures, rows) in enumerate(blocks("frozen_lake/maps", f"{name}-{split}.txt")):
        first, info = env.reset(seed=seed)
        grid = "\n".join(state_in(first).split("\n")[: len(rows)])
        assert grid == "\n".join(rows).translate(str.maketrans("SFHG", symbols))
        assert info["ceiling"] == float(figures["ceiling"])
        assert info["optimal_length"] == reference.shortest(rows)
        if "Coord" in name:
            assert state_in(first).split("\n")[-1] == coordinates(rows, reference.find(rows, "S"))


def coordinates(rows, you):
    holes = [(y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == "H"]
    named = " ".join(f"({y}, {x})" for y, x in holes) or "none"
    goal = reference.find(rows, "G")
    return (
        f"Positions as (row, column), both from 0 in reading order: you ({you[0]}, {you[1]}); "
        f"goal ({goal[0]}, {goal[1]}); holes {named}."
    )


@pytest.mark.slow
def test_slips_have_their_odds_at_every_step():
    for slip, weights in ((Slip(), [1, 1, 1]), (Slip(8, 1), [8, 1, 1])):
        env = on(WIDE, slip)
        turns = [slips(env, 0, rollout, [rollout % 4] * 10) for rollout in range(2_500)]
        every = Counter(turn for told in turns for turn in told)
        assert set(every) == {0, 1, 3}
        assert chi_square([every[t] for t in (0, 1, 3)], weights) < 14  # 2 degrees: one in 1,000
        for n in range(10):
            nth = Counter(told[n] for told in turns)
            assert chi_square([nth[t] for t in (0, 1, 3)], weights) < 20
        # No step tells about the next, nor about the one after that.
        for lag in (1, 2):
            pairs = [(told[n], told[n + lag]) for told in turns for n in range(10 - lag)]
            assert contingency(pairs) < 20  # 4 degrees: one in 2,000


@pytest.mark.slow
def test_slips_have_their_odds_over_seeds():
    env = on(WIDE)
    turns = Counter(slips(env, seed, 0, [1])[0] for seed in range(6_000))
    assert chi_square([turns[t] for t in (0, 1, 3)], [1, 1, 1]) < 14
    pairs = [slips(env, seed, 0, [1])[0] for seed in range(6_000)]
    assert contingency(pairwise(pairs)) < 20


def test_slips_do_not_depend_on_the_map():
    for rollout in range(200):
        told = slips(on(WIDE), 3, rollout, [0, 1, 2, 3] * 2)
        assert slips(on(OTHER), 3, rollout, [0, 1, 2, 3] * 2) == told


@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(0, 3), min_size=10, max_size=10),
    st.lists(st.integers(0, 3), min_size=10, max_size=10),
    st.integers(0, 10**6),
)
def test_the_nth_slip_does_not_depend_on_earlier_actions(first, second, rollout):
    env = on(WIDE)
    assert slips(env, 0, rollout, first) == slips(env, 0, rollout, second)


def test_slips_differ_between_rollouts_seeds_splits_and_variants():
    def ten(seed, rollout, **options):
        return tuple(slips(on(WIDE, **options), seed, rollout, [0] * 10))

    assert len({ten(0, rollout) for rollout in range(50)}) == 50
    assert len({ten(seed, 0) for seed in range(50)}) == 50
    assert ten(0, 0) != ten(0, 0, name="FrozenLakeCoord-v0")
    assert ten(0, 0, split="train") != ten(0, 0, split="val")


def test_the_visible_map_does_not_tell_the_slips():
    """The fault of upstream RAGEN: map and slips from one seed, so that one shows the other."""
    env = make("FrozenLakeCoord-v0", response_format="plain")
    seen = []
    for seed in range(2_500):
        first = state_in(env.reset(seed=seed)[0])
        y, x = place(first)
        if not (0 < y < 3 and 0 < x < 3):
            continue
        after = place(env.step("Right")[0])
        turn = (DIRECTIONS.index((after[0] - y, after[1] - x)) - 1) % 4
        seen.append((turn, first.replace("\n", "")[:16], (y, x)))
    assert len(seen) > 500
    turns = Counter(turn for turn, _, _ in seen)
    assert chi_square([turns[t] for t in (0, 1, 3)], [1, 1, 1]) < 14
    assert contingency((turn, start) for turn, _, start in seen) < 25
    for square in range(16):
        assert contingency((turn, grid[square] == "O") for turn, grid, _ in seen) < 16


@settings(max_examples=examples(100))
@given(
    st.sampled_from(FROZEN_LAKE),
    st.integers(0, 255),
    st.integers(0, 9),
    st.lists(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6), min_size=1, max_size=10),
)
def test_play_agrees_with_coordinates(name, seed, rollout, turns):
    """Each step must be one of the three that the ice may give, and all else must follow."""
    env = make(name, split="val", response_format="plain")
    _, rows = blocks_of(name)[seed]
    symbols = "A.HTD@" if "NewVocab" in name else "P_OGX√"
    env.reset(seed=seed, options={"noise_seed": rollout})
    budget = env.budget
    left, possible = budget.max_actions, {reference.find(rows, "S")}
    for actions in turns:
        run = actions[: min(budget.max_actions_per_turn, left)]
        ends = possible
        reach = {}  # places after exactly so many of the actions
        for n, action in enumerate(run):
            ends = {
                there
                for p in ends
                if rows[p[0]][p[1]] not in "HG"
                for there in reference.outcomes(rows, p, action, 1, 1)
            }
            reach[n + 1] = ends
        before = left
        observation, reward, terminated, truncated, info = env.step(" || ".join(actions))
        left = info["actions_left"]
        grid = observation.split("\n")[1 : len(rows) + 1]
        (at,) = [
            (y, x)
            for y, row in enumerate(grid)
            for x, c in enumerate(row)
            if c in (symbols[0], symbols[4], symbols[5])
        ]
        square = rows[at[0]][at[1]]
        assert at in reach[before - left]
        assert before - left == len(run) or square in "HG"
        shown = {"H": symbols[4], "G": symbols[5]}.get(square, symbols[0])
        assert grid[at[0]][at[1]] == shown
        floor = str.maketrans("SFHG", symbols[1] + symbols[1:4])
        for y, row in enumerate(rows):
            for x, symbol in enumerate(row.translate(floor)):
                assert (y, x) == at or grid[y][x] == symbol
        assert reward == (1.0 if square == "G" else 0.0)
        assert terminated == (square in "HG")
        assert info["success"] == (square == "G")
        if "Coord" in name:
            assert observation.split("\n")[-1] == coordinates(rows, at)
        if terminated or truncated:
            assert terminated or left == 0 or info["turn"] == budget.max_turns
            break
        possible = {at}


def blocks_of(name):
    if name not in _BLOCKS:
        _BLOCKS[name] = blocks("frozen_lake/maps", f"{name}-val.txt")
    return _BLOCKS[name]


_BLOCKS = {}


def test_without_slips_a_lake_is_walked_as_told():
    rows = ["SFF", "FHF", "FFG"]
    env = on(rows, Slip(1, 0))
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("Right || Right || Up || Down")
    assert observation == (
        "Done: Right, Right, Up, Down. Reward: 0. Remaining: 9 turns, 6 actions.\n"
        "___\n_OP\n__G\n" + coordinates(rows, (1, 2))
    )
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["action_is_effective"]
    observation, reward, terminated, truncated, info = env.step("Down || Down")
    assert observation == (
        "Done: Down. The last action was not run. Reward: 1. Remaining: 8 turns, 5 actions.\n"
        "___\n_O_\n__√\n" + coordinates(rows, (2, 2))
    )
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_a_hole_ends_the_episode_without_success():
    env = on(["SFF", "FHF", "FFG"], Slip(1, 0))
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("Right || Down || Up")
    assert observation.split("\n")[1:4] == ["___", "_X_", "__G"]
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)


def test_a_step_over_the_edge_counts_but_is_not_effective():
    env = on(["SFF", "FHF", "FFG"], Slip(1, 0), max_turns=5)
    env.reset(seed=0)
    info = env.step("Up || Left")[4]
    assert (info["action_is_effective"], info["actions_left"]) == (False, 8)
    assert env.step("Up||Up||Up||Up||Up")[2:4] == (False, False)
    assert env.step("Up||Up||Up||Up")[2:4] == (False, True)


def test_the_penalty_comes_on_top_of_the_goal():
    env = on(["SFF", "FHF", "FFG"], Slip(1, 0))
    env.reset(seed=0)
    assert env.step("Right || Right || swim || Down || Down")[1] == 0.9


def test_what_is_not_an_action_uses_no_slip():
    for rollout in range(30):
        env = on(WIDE)
        env.reset(seed=0, options={"noise_seed": rollout})
        env.step("swim || fly")
        skipped = place(env.step("swim || Up || fly || Right")[0])
        env.reset(seed=0, options={"noise_seed": rollout})
        assert place(env.step("Up || Right")[0]) == skipped


def test_turns_and_single_actions_slip_alike():
    for rollout in range(30):
        stream = RandomStream("actions", rollout)
        actions = [ACTIONS[stream.below(4)] for _ in range(5)]
        env = on(WIDE)
        env.reset(seed=0, options={"noise_seed": rollout})
        at_once = place(env.step(" || ".join(actions))[0])
        env.reset(seed=0, options={"noise_seed": rollout})
        assert [place(env.step(action)[0]) for action in actions][-1] == at_once
