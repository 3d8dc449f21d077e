import math

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.games.frozen_lake.env import VARIANTS
from ragen_envs.games.frozen_lake.rules import ACTIONS, Lake, Slip
from ragen_envs.games.frozen_lake.solver import Solver, ceiling
from ragen_envs.games.frozen_lake.solver import _ceilings as found_for
from tests.cases import examples, first_fast
from tests.ragen_envs.games.frozen_lake import reference
from tests.ragen_envs.games.frozen_lake.test_rules import lakes
from tests.ragen_envs.support import FROZEN_LAKE, blocks, images, make, state_in


def ceiling_of(rows, slip, budget):
    return ceiling(Lake("\n".join(rows)), slip, budget)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(
    lakes(2, 3),
    st.sampled_from([Slip(), Slip(8, 1), Slip(1, 0), Slip(2, 3)]),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5)),
)
def test_ceilings_agree_with_every_sequence_in_fractions(rows, slip, limits):
    assume(reference.shortest(rows) is not None)
    exact = reference.ceiling_forward(rows, slip.intended, slip.aside, *limits)
    assert ceiling_of(rows, slip, Budget(*limits)) == pytest.approx(float(exact), abs=1e-9)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.filter_too_much])
@given(lakes(2, 3), st.sampled_from([Slip(), Slip(8, 1), Slip(1, 0)]))
def test_whatever_is_left_is_worth_what_a_budget_of_it_would_be(rows, slip):
    """Turns without an action included, which leave more actions than play by plan does."""
    assume(reference.shortest(rows) is not None)
    lake = Lake("\n".join(rows))
    found = Solver(lake, slip, Budget(4, 3, 7))
    for turns in range(1, 5):
        for actions in range(1, 8):
            alone = ceiling_of(rows, slip, Budget(turns, 3, actions))
            assert found.success_rate(lake.start, turns, actions) == pytest.approx(alone, abs=1e-9)
    assert found.success_rate(lake.start, 0, 7) == found.success_rate(lake.start, 4, 0) == 0.0


@given(lakes(2, 5))
def test_images_and_other_starts_share_what_was_found(rows):
    assume(reference.shortest(rows) is not None)
    lake = Lake("\n".join(rows))
    board, columns, start = lake.standing
    limits = Slip(8, 1), Budget(2, 2, 4)
    rate = ceiling(lake, *limits)
    for image in images(rows):
        twin = Lake("\n".join(image))
        assert twin.standing[:2] == (board, columns)
        assert ceiling(twin, *limits) == pytest.approx(rate, abs=1e-9)
    there = list(board)
    assert there[start] == "F"
    there[start] = "S"
    assert Lake("".join(there)).digest == lake.digest
    assert found_for(board, columns, *limits)[start] == rate
    for square, letter in enumerate(board):  # the goal's own is of no use
        if letter == "F":
            twin = Lake(f"{board[:square]}S{board[square + 1 :]}")
            if twin.board == board:
                assert found_for(*twin.standing[:2], *limits)[twin.standing[2]] == pytest.approx(
                    found_for(board, columns, *limits)[square], abs=1e-9
                )


FOUR = ["SFFF", "FHFH", "FFFH", "HFFG"]


@pytest.mark.parametrize("slip", [Slip(), Slip(8, 1)])
@pytest.mark.parametrize(
    "limits", first_fast([((1, 4, 4),), ((2, 3, 6),), ((4, 2, 7),), ((3, 3, 9),)])
)
def test_ceilings_of_gymnasiums_map_agree_with_every_sequence(slip, limits):
    exact = reference.ceiling_forward(FOUR, slip.intended, slip.aside, *limits)
    assert ceiling_of(FOUR, slip, Budget(*limits)) == pytest.approx(float(exact), abs=1e-9)
    backward = reference.ceiling_backward(FOUR, slip.intended, slip.aside, *limits)
    assert backward == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("name", FROZEN_LAKE)
@pytest.mark.parametrize("split", first_fast(["val", "test"]))
def test_shipped_ceilings_agree_with_every_sequence(name, split):
    variant = VARIANTS[name]
    slip, budget = variant.slip, variant.budget
    limits = budget.max_turns, budget.max_actions_per_turn, budget.max_actions
    for figures, rows in blocks("frozen_lake/maps", f"{name}-{split}.txt")[:2]:
        exact = reference.ceiling_backward(rows, slip.intended, slip.aside, *limits)
        assert float(figures["ceiling"]) == pytest.approx(exact, abs=2e-9)


@pytest.mark.parametrize("name", FROZEN_LAKE)
def test_shipped_and_computed_ceilings_agree(name):
    variant = VARIANTS[name]
    env = make(name, split="test")
    for seed, (figures, rows) in enumerate(blocks("frozen_lake/maps", f"{name}-test.txt")[:40]):
        info = env.reset(seed=seed)[1]
        assert info["ceiling"] == float(figures["ceiling"])
        found = ceiling_of(rows, variant.slip, variant.budget)
        assert found == pytest.approx(info["ceiling"], abs=2e-9)


@pytest.mark.parametrize("name", ["FrozenLake-v0", "FrozenLakeMild-v0", "FrozenLakeLarge-v0"])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_policy_reaches_its_ceiling_in_play(name, seed):
    env = make(name, split="test", response_format="plain")
    rollouts = 3_000
    answers, won = {}, 0
    for rollout in range(rollouts):
        first, info = env.reset(seed=seed, options={"noise_seed": rollout})
        state = state_in(first)
        while env.legal_actions:
            key = state, info["turn"], info["actions_left"]
            if key not in answers:
                answers[key] = " || ".join(env.best_actions())
            observation, _, _, _, info = env.step(answers[key])
            state = observation.split("\n", 1)[1]
        won += info["success"]
    rate = info["ceiling"]
    error = math.sqrt(rate * (1 - rate) / rollouts)
    assert abs(won / rollouts - rate) <= 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FrozenLake-v0", "FrozenLakeMild-v0"])
def test_nobody_beats_the_ceiling_over_many_lakes(name):
    """The mean over the split of one rollout each: the ceilings are a mean of 256 coins."""
    env = make(name, split="val", response_format="plain")
    won = expected = variance = 0.0
    for seed in range(256):
        for rollout in range(4):
            info = env.reset(seed=seed, options={"noise_seed": rollout})[1]
            expected += info["ceiling"]
            variance += info["ceiling"] * (1 - info["ceiling"])
            while env.legal_actions:
                info = env.step(" || ".join(env.best_actions()))[4]
            won += info["success"]
    assert abs(won - expected) < 4 * math.sqrt(variance)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.filter_too_much])
@given(lakes(2, 4), st.sampled_from([Slip(), Slip(8, 1)]), st.integers(0, 10**6))
def test_plans_are_worth_what_the_solver_says(rows, slip, seed):
    assume(reference.shortest(rows) is not None)
    budget = Budget(max_turns=3, max_actions_per_turn=3, max_actions=6)
    found = Solver(Lake("\n".join(rows)), slip, budget)
    width = len(rows[0])
    places = [p for p in reference.reached(rows) if rows[p[0]][p[1]] in "SF"]
    y, x = places[RandomStream("place", seed).below(len(places))]
    for turns, actions in ((3, 6), (2, 3), (1, 2)):
        plan = found.plan(y * (width + 1) + x, turns, actions)
        assert 1 <= len(plan) <= min(3, actions)
        belief = {(y, x): 1.0}
        for action in plan:
            after = {}
            for place, odds in belief.items():
                moves = reference.outcomes(rows, place, ACTIONS[action], slip.intended, slip.aside)
                for there, p in moves.items():
                    after[there] = after.get(there, 0) + odds * float(p)
            belief = after
        left = turns - 1, actions - len(plan)
        value = sum(
            odds * found.success_rate(py * (width + 1) + px, *left)
            for (py, px), odds in belief.items()
        )
        stated = found.success_rate(y * (width + 1) + x, turns, actions)
        assert value == pytest.approx(stated, abs=1e-9)


def test_ceilings_by_hand():
    # Above a row of holes, Up is the safe way right: it slips there once in three.
    ledge = ["SFG", "HHH"]
    assert ceiling_of(ledge, Slip(1, 0), Budget(1, 2, 2)) == 1.0
    assert ceiling_of(ledge, Slip(1, 0), Budget(1, 1, 1)) == 0.0
    assert ceiling_of(ledge, Slip(), Budget(1, 2, 2)) == pytest.approx(1 / 9, abs=1e-9)
    assert ceiling_of(ledge, Slip(), Budget(1, 3, 3)) == pytest.approx(2 / 9, abs=1e-9)
    assert ceiling_of(ledge, Slip(8, 1), Budget(2, 1, 2)) == pytest.approx(0.64, abs=1e-9)
    # A turn runs no more than its own actions, whatever is left of the episode's.
    assert ceiling_of(ledge, Slip(1, 0), Budget(1, 1, 9)) == 0.0
    assert ceiling_of(ledge, Slip(1, 0), Budget(9, 1, 1)) == 0.0


def test_more_turns_and_more_sight_help():
    def rate(*limits):
        return ceiling_of(FOUR, Slip(), Budget(*limits))

    assert rate(2, 5, 10) < rate(5, 5, 10)
    assert rate(5, 5, 9) < rate(5, 5, 10)
    assert rate(10, 1, 10) > rate(5, 2, 10)


def test_plans_choose_the_shortest_and_the_first_of_equals():
    # One step from the goal in a corridor without slips, one action is as good as three.
    lake = Lake("FFF\nSFG\nFFF")
    found = Solver(lake, Slip(1, 0), Budget(1, 5, 5))
    assert found.plan(lake.start, 1, 5) == [1, 1]
    assert found.plan(lake.start + 1, 1, 5) == [1]
    # Two ways of three steps round the corner: Up comes before Right.
    corner = Lake("FG\nFF\nSF")
    assert Solver(corner, Slip(1, 0), Budget(1, 5, 5)).plan(corner.start, 1, 5) == [0, 0, 1]
