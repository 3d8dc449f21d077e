from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.mastermind.rules import Codes, Generator, Opening, all_codes, census
from tests.ragen_envs.games.mastermind import reference

code = st.lists(st.integers(0, 5), min_size=4, max_size=4).map(tuple)


def opening(*rows):
    """Return an opening of rows such as "AAB 1 0"."""
    every = all_codes(len(rows[0].split()[0]))
    numbered = []
    for row in rows:
        guess, *told = row.split()
        kind = every.kinds.index(tuple(map(int, told)))
        numbered.append((every.names.index(" ".join(guess)), kind))
    return Opening(len(guess), tuple(numbered))


@pytest.mark.parametrize(("pegs", "colours"), [(1, 2), (2, 3), (3, 4), (4, 3)])
def test_all_answers_are_those_of_the_reference(pegs, colours):
    every = Codes(pegs, colours)
    texts = reference.codes(pegs, colours)
    assert [name.replace(" ", "") for name in every.names] == texts
    for (i, guess), (j, secret) in product(enumerate(texts), repeat=2):
        told = every.kinds[every.answers[i, j]]
        assert told == reference.told(guess, secret)
        assert every.rows[i][j] == every.answers[i, j]
        assert (i == j) == (every.answers[i, j] == every.win)


@given(code, code)
def test_answers_of_four_pegs_are_those_of_the_reference(guess, secret):
    every = all_codes(4)
    i, j = every.codes.index(guess), every.codes.index(secret)
    assert every.answers[i, j] == every.answers[j, i]
    assert every.kinds[every.answers[i, j]] == reference.told(guess, secret)


def test_there_are_nine_answers_to_three_pegs_and_fourteen_to_four():
    assert len(all_codes(3).kinds) == 9
    assert len(all_codes(4).kinds) == 14
    assert (2, 1) not in all_codes(3).kinds
    assert (3, 1) not in all_codes(4).kinds


@pytest.mark.parametrize("size", [(0, 6), (5, 6), (3, 1), (3, 7)])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match="1 to 4 pegs of 2 to 6 colours, got"):
        Codes(*size)


@given(st.integers(0, 215), st.integers(0, 8))
def test_a_set_holds_the_codes_that_agree(guess, kind):
    every = all_codes(3)
    agreeing = [i for i in range(216) if every.answers[guess, i] == kind]
    held = every.agreeing(guess, kind)
    assert held == sum(1 << i for i in agreeing) == every.agreeing(guess, kind)
    assert list(every.members(held)) == agreeing


def test_an_opening_leaves_the_codes_that_agree_with_every_row():
    rows = [("AAB", (1, 0)), ("CDE", (0, 1))]
    left = opening("AAB 1 0", "CDE 0 1")
    names = [all_codes(3).names[i].replace(" ", "") for i in left.secrets]
    assert names == reference.possible(3, rows)
    assert left.possible.bit_count() == len(names) > 5


@given(
    st.sampled_from([3, 4]),
    st.integers(0, 10**6),
    st.permutations(range(6)),
    st.permutations(range(4)),
    st.permutations(range(3)),
)
def test_names_places_and_the_order_of_rows_do_not_count(pegs, seed, names, places, order):
    first = next(filter(None, Generator(pegs, 3, 2, 999)(RandomStream("any", seed))))
    every = all_codes(pegs)
    places = [place for place in places if place < pegs]

    def image(guess):
        return every.codes.index(tuple(names[every.codes[guess][place]] for place in places))

    rows = [(image(guess), kind) for guess, kind in first.rows]
    other = Opening(pegs, tuple(rows[i] for i in order))
    assert other.digest == first.digest
    assert census(other) == census(first)
    assert other.part == first.part


def test_openings_of_one_digest_are_images_of_each_other():
    generator = Generator(3, 2, 6, 40)
    by_digest = {}
    for seed in range(120):
        found = draw(generator, RandomStream("images", seed), "train")
        by_digest.setdefault(found.digest, []).append(found)
    assert 20 < len(by_digest) < 110
    table = reference.images(3)
    for first, *others in by_digest.values():
        for other in others:
            wanted = {(guess, kind) for guess, kind in other.rows}
            moved = ([(image[guess], kind) for guess, kind in first.rows] for image in table)
            assert any(set(rows) == wanted for rows in moved)


def test_rows_that_leave_the_same_codes_are_of_one_part_though_they_differ():
    first, other = opening("AAAB 0 0", "CDEF 1 0"), opening("AABB 0 0", "CDEF 1 0")
    assert first.secrets == other.secrets
    assert first.digest != other.digest
    assert first.part == other.part
    assert census(first) == census(other)


def test_answers_count_for_the_digest():
    assert opening("AAB 1 0").digest != opening("AAB 0 1").digest
    assert opening("AAB 1 0").digest != opening("AABC 1 0").digest
