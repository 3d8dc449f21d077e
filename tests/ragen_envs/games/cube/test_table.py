from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.cube.rules import ACTIONS
from ragen_envs.games.cube.table import (
    DEALT,
    LONGEST,
    POSITIONS,
    SOLVED,
    distance,
    positions,
    solution,
    table,
)
from tests.ragen_envs.games.cube import reference

PUBLISHED = (1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644)
"""Jaap Scherphuis, the 2x2x2 cube: positions at each distance, in the half-turn metric."""
numbers = st.integers(0, POSITIONS - 1)


@cache
def levels():
    return reference.levels(5)


@given(numbers, st.sampled_from(reference.ROTATIONS))
def test_a_position_has_one_number_whatever_its_colours(number, rotation):
    stickers = positions().stickers(number)
    assert reference.held(stickers) == stickers
    other = str.maketrans(reference.SOLVED, reference.moved(reference.SOLVED, rotation))
    assert positions().number(stickers) == positions().number(stickers.translate(other)) == number


@given(numbers)
def test_numbers_follow_moves(number):
    stickers = positions().stickers(number)
    assert positions().after(number) == [
        positions().number(reference.play(stickers, [action])) for action in ACTIONS
    ]


def test_there_are_as_many_positions_at_each_distance_as_is_published():
    found = Counter(map(table().distance, range(POSITIONS)))
    assert tuple(found[length] for length in range(LONGEST + 1)) == PUBLISHED
    assert sum(PUBLISHED) == POSITIONS == 3_674_160


def test_distances_are_those_of_a_plain_search():
    for length, stickers in enumerate(levels()):
        assert {distance(each) for each in stickers} == {length}
        assert len({positions().number(each) for each in stickers}) == PUBLISHED[length]


def test_turns_of_the_other_faces_make_nothing_shorter():
    every = reference.levels(3, tuple(reference.TURNS), reference.held)
    assert every == levels()[:4]


@given(numbers)
def test_neighbours_are_at_most_one_move_nearer_or_farther(number):
    lengths = [table().distance(other) for other in positions().after(number)]
    here = table().distance(number)
    assert all(abs(length - here) <= 1 for length in lengths)
    assert (here - 1 in lengths) == (number != SOLVED)


@given(numbers, st.sampled_from(reference.ROTATIONS))
def test_solutions_are_shortest_ones(number, rotation):
    stickers = reference.moved(positions().stickers(number), rotation)
    moves = solution(stickers)
    assert len(moves) == distance(stickers) == table().distance(number)
    assert reference.is_solved(reference.play(stickers, [ACTIONS[move] for move in moves]))


def test_the_solved_cube_takes_no_moves():
    assert (distance(reference.SOLVED), solution(reference.SOLVED)) == (0, [])


def part(stickers):
    return table().part(positions().number(stickers))


def test_each_part_has_a_quarter_of_the_positions_at_distance_four():
    parts = {reference.form(stickers): part(stickers) for stickers in levels()[DEALT]}
    assert Counter(parts.values()) == dict.fromkeys(("val", "test", "sealed", "train"), 17)
    for stickers in levels()[DEALT]:
        assert part(stickers) == parts[reference.form(stickers)]


def test_what_all_solutions_end_with_is_training_s():
    nearer = [stickers for level in levels()[:DEALT] for stickers in level]
    assert {part(stickers) for stickers in nearer} == {"train"}
    assert (
        len({reference.form(stickers) for stickers in nearer} - {reference.form(nearer[0])}) == 26
    )


def test_positions_up_to_symmetry():
    found = [len({reference.form(stickers) for stickers in level}) for level in levels()[:5]]
    assert found == [1, 2, 5, 19, 68]


def dealt_on_the_way(stickers):
    """Return the positions at distance 4 that shortest solutions pass through."""
    here = {reference.held(stickers)}
    for length in range(distance(stickers) - 1, DEALT - 1, -1):
        here = {
            after
            for each in here
            for action in ACTIONS
            if distance(after := reference.play(each, [action])) == length
        }
    return here


@given(numbers)
def test_a_part_is_that_of_all_ways_or_none(number):
    stickers = positions().stickers(number)
    if distance(stickers) >= DEALT:
        parts = {part(each) for each in dealt_on_the_way(stickers)}
        assert part(stickers) == (parts.pop() if len(parts) == 1 else "none")


@pytest.mark.parametrize("length", [5, 6, 7, 8, 9])
def test_ways_that_lead_farther_stay_in_their_part(length):
    number = SOLVED
    for step in range(length):
        farther = table().farther(number)
        expected = [
            other
            for other in positions().after(number)
            if table().distance(other) == step + 1 and table().part(other) != "none"
        ]
        assert farther == expected
        if step >= DEALT:
            assert {table().part(other) for other in farther} == {table().part(number)}
        number = farther[step % len(farther)]
    stickers = positions().stickers(number)
    assert {part(each) for each in dealt_on_the_way(stickers)} == {table().part(number)}
