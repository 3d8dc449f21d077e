"""The truth of claims on the boards of other instances."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.claims import claims_of
from ragen_bench.analysis.elsewhere import Elsewhere
from ragen_bench.analysis.scene import Scene

ABOVE, BELOW = "The goal is above me.", "The goal is below me."
NEAR = "The goal is directly above me. I go on."


def board(goal, me=(2, 2)):
    places = {"me": frozenset([me]), "goal": frozenset([goal]), "hole": frozenset()}
    return Scene(places, corners=(0, 4, 0, 4))


UP, FAR_UP, DOWN = board((1, 2)), board((0, 0)), board((4, 1))


def test_a_thought_is_judged_on_the_next_instance_and_the_last_one_on_the_first():
    found = Elsewhere()
    found.add(7, 0, 1, ABOVE, UP)  # the next is 9
    found.add(9, 0, 1, BELOW, DOWN)  # the next is 11
    found.add(11, 0, 1, f"{ABOVE} {NEAR}", FAR_UP)  # the next is 7: both are true there
    assert found.truth() == round(2 / 4, 6)


def test_the_board_is_that_of_the_same_turn_or_the_last_one():
    found = Elsewhere()
    found.add(0, 0, 1, ABOVE, UP)
    found.add(0, 0, 2, ABOVE, UP)
    found.add(0, 0, 5, ABOVE, UP)
    found.add(1, 0, 1, "", DOWN)
    found.add(1, 0, 2, "", UP)
    assert found.truth() == round(2 / 3, 6)


def test_only_the_boards_of_the_first_sample_are_judged_on():
    found = Elsewhere()
    for sample, mine in enumerate((UP, DOWN)):
        found.add(0, sample, 1, ABOVE, mine)
        found.add(1, sample, 1, ABOVE, mine)
    assert found.truth() == 1


@pytest.mark.parametrize("thoughts", [[], [(0, ABOVE)], [(0, ""), (1, "I go on.")]])
def test_without_claims_or_with_one_instance_there_is_nothing_to_tell(thoughts):
    found = Elsewhere()
    for index, thought in thoughts:
        found.add(index, 0, 1, thought, UP)
    assert found.truth() is None


@given(
    st.lists(st.tuples(st.sampled_from([ABOVE, BELOW]), st.sampled_from([UP, DOWN])), min_size=2)
)
def test_the_order_of_the_episodes_does_not_matter(games):
    forwards, backwards = Elsewhere(), Elsewhere()
    for index, (thought, mine) in enumerate(games):
        forwards.add(index, 0, 1, thought, mine)
    for index, (thought, mine) in reversed(list(enumerate(games))):
        backwards.add(index, 0, 1, thought, mine)
    boards = [mine for _, mine in games[1:] + games[:1]]
    true = [
        claims_of(thought, b).read[0].true for (thought, _), b in zip(games, boards, strict=True)
    ]
    assert forwards.truth() == backwards.truth() == round(float(Fraction(sum(true), len(true))), 6)
