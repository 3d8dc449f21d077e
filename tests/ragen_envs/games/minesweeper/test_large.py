"""MinesweeperLarge: what only its reference player and its boards of 8x8 have."""

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.minesweeper.env import VARIANTS, MinesweeperEnv, MinesweeperVariant
from ragen_envs.games.minesweeper.generator import Generator
from ragen_envs.games.minesweeper.players import ROLLOUTS, Reference
from ragen_envs.games.minesweeper.rules import Opening
from ragen_envs.registration import IDS, find_reference
from tests.cases import examples
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.games.minesweeper.boards import openings
from tests.ragen_envs.games.minesweeper.test_env import name_of, place_of, read, started
from tests.ragen_envs.support import canonical, chi_square, make, rare

NAME = "MinesweeperLarge-v0"
SEEDS = 300


@cache
def shipped(split):
    return MinesweeperEnv.load_shipped(NAME, split)


def test_the_variant():
    generator = Generator(8, 8, 10, 10, max_further=0, max_to_open=50, max_layouts=None)
    budget = Budget(max_turns=50, max_actions_per_turn=1, max_actions=50)
    expected = VARIANTS[NAME].expected
    assert VARIANTS[NAME] == MinesweeperVariant(NAME, generator, budget, expected)


def test_only_its_oracle_is_a_reference():
    minesweeper = [id_ for id_ in IDS if "Minesweeper" in id_]
    assert [id_ for id_ in minesweeper if find_reference(id_)] == [f"ragen/{NAME}"]
    assert find_reference("ragen/Own-v0") == ""


@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_openings_can_be_played(split):
    for opening in shipped(split):
        rows = opening.board.split("\n")
        assert (len(rows), {*map(len, rows)}, opening.mines) == (8, {8}, 10)
        assert 4 <= opening.board.count("#") - opening.mines <= 50
        opened = reference.opened_of(rows)
        zeros = {(y, x) for y, x in opened if rows[y][x] == "0"}
        assert zeros
        for place in zeros:  # what a zero opens is open
            assert set(reference.around(rows, place)) <= opened
        counting = Reference(opening)
        assert counting.count(counting.start) >= 2
        assert 0 <= opening.ceiling <= 1


def test_no_opening_is_twice_in_what_is_held_out_nor_trained_on():
    held_out = [canonical(o.board.split("\n")) for s in ("val", "test") for o in shipped(s)]
    assert len(set(held_out)) == len(held_out) == 512
    for seed in range(SEEDS):
        opening = draw(
            VARIANTS[NAME].generator, RandomStream("instance", NAME, "train", seed), "train"
        )
        assert canonical(opening.board.split("\n")) not in held_out


def test_training_states_the_mean_of_what_is_held_out():
    """To within four standard errors of a mean of 512, which differ by 0.12."""
    env = make(NAME)
    assert env.reset(seed=0)[1]["ceiling"] == VARIANTS[NAME].expected
    held_out = [opening.ceiling for split in ("val", "test") for opening in shipped(split)]
    assert abs(sum(held_out) / 512 - VARIANTS[NAME].expected) < 4 * 0.12 / 512**0.5


def risks_of(rows, mines):
    """Return the risks by the listed layouts, None where there are too many to list."""
    counting = Reference(Opening("\n".join(rows), mines))
    if counting.count(counting.start) > 2000:
        return None
    layouts = Opening("\n".join(rows), mines).layouts
    return {
        (y, x): sum(each >> 8 * y + x & 1 for each in layouts) / len(layouts)
        for y, x in reference.places(rows)
        if rows[y][x] == "#"
    }


@settings(max_examples=25)
@given(st.integers(0, 255), st.integers(0, 9), st.randoms(use_true_random=False))
def test_info_is_what_listing_all_layouts_gives(seed, rollout, rng):
    env = started(seed, rollout, name=NAME)
    compared = 0
    while env.legal_actions:
        rows, mines = read(env.render())
        risks = risks_of(rows, mines)
        (best,) = env.best_actions()
        closed = [place for place in reference.places(rows) if rows[place[0]][place[1]] == "#"]
        place = place_of(best) if rng.random() < 0.8 else rng.choice(closed)
        *_, info = env.step(name_of(place))
        if risks is not None:
            least = min(risks.values())
            told = risks[place], float(risks[place] == least), float(least == 0)
            assert (info["risk"], info["least_risky"], info["safe_square"]) == told
            assert risks[place_of(best)] == least
            compared += 1
    assert compared or not info["success"]


@given(openings(sizes=((3, 4), (4, 4))))
def test_the_reference_opens_a_least_risky_square_with_few_beside_it(opening):
    rows = opening.board.split("\n")
    counting = Reference(opening)
    risks = reference.risks(rows, opening.mines)
    least = [place for place in sorted(risks) if risks[place] == min(risks.values())]
    fewest = min(len(reference.around(rows, place)) for place in least)
    chosen = next(place for place in least if len(reference.around(rows, place)) == fewest)
    assert divmod(counting.best_square(counting.start), opening.width) == chosen
    for place in risks:
        square = place[0] * opening.width + place[1]
        assert counting.is_best(counting.start, square) == (place in least)


def played(counting, rows, mines, layout):
    """Return whether the reference wins on a layout, one square after the other."""
    opened = reference.opened_of(rows)
    while len(opened) + mines < len(reference.places(rows)):
        drawn = reference.drawn(rows, layout, opened)
        twin = Reference(Opening("\n".join(drawn), mines))
        place = divmod(twin.best_square(twin.start), len(rows[0]))
        if place in layout:
            return False
        opened = reference.flooded(rows, layout, opened, place)
    return True


@settings(max_examples=examples(60))
@given(openings(sizes=((3, 3), (3, 4), (4, 4))))
def test_success_is_the_share_of_layouts_that_are_won(opening):
    rows = opening.board.split("\n")
    layouts = reference.layouts(rows, opening.mines)
    counting = Reference(opening)
    won = sum(played(counting, rows, opening.mines, layout) for layout in layouts)
    assert counting.success(len(layouts)) == won / len(layouts)
    assert counting.success(10 * len(layouts)) == won / len(layouts)
    if len(layouts) > 1:  # of fewer rollouts than layouts, a share of these
        assert (counting.success(2) * 2).is_integer()


def test_held_out_ceilings_are_estimates_of_so_many_rollouts():
    for opening in shipped("val")[::16]:
        counting = Reference(opening)
        assert opening.ceiling == round(counting.success(), 9)
        least = min(ROLLOUTS, counting.count(counting.start))
        assert abs(opening.ceiling * least - round(opening.ceiling * least)) < 1e-6


def test_all_layouts_are_equally_likely_in_rollouts():
    few = [seed for seed, o in enumerate(shipped("val")) if len(risks_few(o)) in range(6, 40)]
    env = started(few[0], name=NAME)
    layouts = risks_few(shipped("val")[few[0]])
    met = Counter()
    for rollout in range(40 * len(layouts)):
        env.reset(seed=few[0], options={"noise_seed": rollout})
        met[env._mines] += 1
    assert set(met) == set(layouts)
    assert chi_square([met[each] for each in layouts], [1] * len(layouts)) < rare(len(layouts) - 1)


def risks_few(opening):
    """Return an opening's layouts if they are not many."""
    counting = Reference(opening)
    return opening.layouts if counting.count(counting.start) < 40 else ()
