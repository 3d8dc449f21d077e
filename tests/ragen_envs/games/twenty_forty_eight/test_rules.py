import pickle
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_forty_eight.rules import ACTIONS, Opening, pack, rows_of, sum_tiles
from tests.ragen_envs.games.twenty_forty_eight import reference
from tests.ragen_envs.games.twenty_forty_eight.boards import boards, packed, unpacked
from tests.ragen_envs.support import images


@given(boards(), st.integers(0, 3))
def test_moves_are_those_of_lists_of_tiles(rows, action):
    size = len(rows)
    after = rows_of(size).move(packed(rows), action)
    assert unpacked(after, size) == reference.moved(rows, ACTIONS[action])


@given(boards(), st.integers(0, 3))
def test_a_move_keeps_the_sum_of_the_tiles_and_makes_none_smaller(rows, action):
    size = len(rows)
    board = packed(rows)
    after = rows_of(size).move(board, action)
    assert sum_tiles(after, size**2) == sum_tiles(board, size**2) == sum(map(sum, rows))
    assert rows_of(size).find_largest(after) >= rows_of(size).find_largest(board)
    assert len(reference.empty(unpacked(after, size))) >= len(reference.empty(rows))


def test_three_in_a_line_and_two_pairs():
    rows = rows_of(4)
    board = pack([1, 1, 1, 0, 2, 2, 3, 3, 1, 1, 2, 0, 0, 1, 0, 1])
    assert unpacked(rows.move(board, ACTIONS.index("Right")), 4) == [
        [0, 0, 2, 4],
        [0, 0, 8, 16],
        [0, 0, 4, 4],
        [0, 0, 0, 4],
    ]


@given(boards(largest=2))
def test_stuck_is_a_board_that_no_move_changes(rows):
    assert rows_of(len(rows)).is_stuck(packed(rows)) == (not reference.legal(rows))


def test_a_full_board_is_stuck_without_equal_neighbours():
    rows = rows_of(2)
    assert rows.is_stuck(pack([1, 2, 2, 1]))
    assert not rows.is_stuck(pack([1, 2, 1, 3]))
    assert not rows.is_stuck(pack([1, 1, 2, 3]))
    assert not rows.is_stuck(pack([1, 2, 3, 0]))


@given(boards(sizes=(2, 3)).filter(reference.empty))
def test_new_tiles_have_their_odds(rows):
    """Words that are spread evenly give each empty square equally often, and a 2 in 9 of 10."""
    size, places = len(rows), reference.empty(rows)
    count = 10 * len(places)
    words = [((2 * i + 1) << 63) // count for i in range(count)]
    found = Counter(rows_of(size).add_tile(packed(rows), word) for word in words)
    expected = {
        packed(reference.with_tile(rows, place, tile)): 9 if tile == 2 else 1
        for place in places
        for tile in (2, 4)
    }
    assert found == expected


@given(boards(), st.integers(0, 7))
def test_images_of_an_opening_have_one_digest(rows, image):
    size = len(rows)
    letters = ["".join(str(tile.bit_length()) for tile in row) for row in rows]
    turned = [[(1 << int(n)) // 2 for n in row] for row in images(letters)[image]]
    one, other = Opening(size, packed(rows)), Opening(size, packed(turned))
    assert (one.digest, one.part) == (other.digest, other.part)


def test_boards_that_are_no_images_have_other_digests():
    """Of the boards of four squares with up to three kinds of tiles, by Burnside's lemma."""
    digests = {Opening(2, pack([a, b, c, d])).digest for a, b, c, d in product(range(4), repeat=4)}
    # Fixed by the identity, two quarter turns, a half turn, two mirrors and two diagonals.
    assert len(digests) == (4**4 + 2 * 4 + 4**2 + 2 * 4**2 + 2 * 4**3) // 8


@pytest.mark.parametrize("size", [2, 3])
def test_a_copy_of_the_tables_is_the_tables(size):
    assert pickle.loads(pickle.dumps(rows_of(size))) is rows_of(size)
