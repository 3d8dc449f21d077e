from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import content_hash
from ragen_envs.games.cube.generator import Cube
from ragen_envs.games.cube.rules import (
    ACTIONS,
    FACES,
    GAME,
    MOVES,
    ROTATIONS,
    SYMMETRIES,
    canonical_form,
    images,
    normal_form,
    solved_form,
    turn_cube,
)
from tests.ragen_envs.games.cube import reference

ALL = "ABCDEFGHIJKLMNOPQRSTUVWX"
ways = st.sampled_from(reference.SYMMETRIES)
walks = st.lists(st.sampled_from(list(reference.TURNS)), max_size=14)
cubes = st.builds(reference.play, st.just(reference.SOLVED), walks)


@cache
def near():
    """Return all positions within four moves, and some farther ones."""
    found = {stickers for level in reference.levels(4) for stickers in level}
    return sorted(found)


def test_the_names():
    assert ("cube", "".join(reference.FRAMES)) == (GAME, FACES)
    assert ACTIONS == ("U", "U'", "U2", "R", "R'", "R2", "F", "F'", "F2")


@pytest.mark.parametrize("action", ACTIONS)
def test_moves_are_turns_in_space(action):
    turn = MOVES[ACTIONS.index(action)]
    assert turn_cube(ALL, turn) == reference.play(ALL, [action]) != ALL


def test_rotations_and_symmetries_are_the_matrices_of_a_cube():
    def done(turns):
        return {turn_cube(ALL, turn) for turn in turns}

    def expected(ways):
        return {reference.moved(ALL, way) for way in ways}

    assert len(ROTATIONS) == len(done(ROTATIONS)) == 24
    assert len(SYMMETRIES) == len(done(SYMMETRIES)) == 48
    assert done(ROTATIONS) == expected(reference.ROTATIONS)
    assert done(SYMMETRIES) == expected(reference.SYMMETRIES)


@given(walks.map(lambda walk: [m for m in walk if m[0] in "URF"]), st.data())
def test_the_solved_cube_is_the_one_that_moves_lead_back_to(walk, data):
    start = reference.moved(reference.SOLVED, data.draw(st.sampled_from(reference.ROTATIONS)))
    assert reference.is_solved(start)
    assert solved_form(reference.play(start, walk)) == start


@given(cubes, st.sampled_from(reference.ROTATIONS))
def test_the_normal_form_names_colours_after_their_faces(stickers, rotation):
    form = normal_form(reference.moved(stickers, rotation))
    assert solved_form(form) == reference.SOLVED
    assert reference.form(form) == reference.form(stickers)
    assert Counter(form) == Counter(reference.SOLVED)


@given(cubes, ways)
def test_digest_and_form_know_no_symmetry(stickers, way):
    twin = reference.moved(stickers, way)
    assert canonical_form(twin) == canonical_form(stickers)
    assert Cube(twin, 1).digest == Cube(stickers, 1).digest
    assert Cube(twin, 1).part == Cube(stickers, 1).part
    assert len(images(stickers)) == 48
    assert set(images(twin)) == set(images(stickers))


def test_forms_agree_one_to_one_with_those_in_space():
    pairs = {(canonical_form(stickers), reference.form(stickers)) for stickers in near()}
    assert len(near()) == 1 + 9 + 54 + 321 + 1847
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == 95


def test_the_digest_is_the_hash_of_the_form():
    form = canonical_form(reference.play(reference.SOLVED, ["U", "R2"]))
    assert Cube(form, 2).digest == content_hash("cube", form.encode())
