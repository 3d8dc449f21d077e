"""The truth of claims on the boards of other instances."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.reasoning import TruthElsewhere
from ragen_envs.core.scene import Scene

ABOVE, BELOW = "The goal is above me.", "The goal is below me."
NEAR = "The goal is one row above me. I go on."


def board(goal, me=(2, 2)):
    places = {"me": frozenset([me]), "goal": frozenset([goal]), "hole": frozenset()}
    return Scene(places, corners=(0, 4, 0, 4))


UP, FAR_UP, DOWN = board((1, 2)), board((0, 2)), board((4, 1))


def counts(games):
    """Return the counts of games: of each an index, its boards and its thoughts by turn."""
    found = TruthElsewhere()
    for index, boards, thoughts in games:
        found.add_boards(index, boards)
        for turn, thought in thoughts.items():
            found.add_thought(index, turn, thought)
    return found.count_claims()


def test_a_thought_is_judged_on_the_next_instance_and_the_last_one_on_the_first():
    games = [
        (7, [UP], {1: ABOVE}),  # false of 9
        (9, [DOWN], {1: ABOVE}),  # true of 11
        (11, [FAR_UP], {1: f"{ABOVE} {NEAR}"}),  # both true of 7
    ]
    assert counts(games) == counts(games[::-1]) == {"true": 3, "false": 1}


@pytest.mark.parametrize(("turn", "true"), [(1, False), (2, True), (3, False), (9, False)])
def test_the_board_is_that_of_the_same_turn_or_the_last_one(turn, true):
    games = [(0, [UP], {turn: ABOVE}), (1, [DOWN, UP, DOWN], {2: "I go on."})]
    assert counts(games) == {"true": int(true), "false": int(not true)}


def test_thoughts_of_other_samples_count_beside_the_boards_of_the_first():
    found = TruthElsewhere()
    for index, boards in enumerate(([UP], [DOWN])):
        found.add_boards(index, boards)
    for _ in range(3):
        found.add_thought(0, 1, BELOW)
    assert found.count_claims() == {"true": 3, "false": 0}


@pytest.mark.parametrize(
    "games",
    [
        [],
        [(0, [UP], {1: ABOVE})],
        [(0, [UP], {1: ""}), (1, [UP], {1: "I go on."})],
        [(0, [], {1: ABOVE}), (1, [], {1: ABOVE})],
    ],
)
def test_without_claims_boards_or_another_instance_there_is_nothing_to_count(games):
    assert counts(games) == {"true": 0, "false": 0}


@given(
    st.lists(st.tuples(st.sampled_from([ABOVE, BELOW]), st.sampled_from([UP, DOWN])), min_size=2)
)
def test_each_claim_is_judged_once(games):
    found = counts([(index, [mine], {1: said}) for index, (said, mine) in enumerate(games)])
    others = [mine for _, mine in [*games[1:], games[0]]]
    judged = [claims_of(said, b).read[0].true for (said, _), b in zip(games, others, strict=True)]
    assert found == {"true": sum(judged), "false": len(judged) - sum(judged)}
