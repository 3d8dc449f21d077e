"""Random boards, and their two forms: rows of tiles, and the package's ints."""

from hypothesis import strategies as st

from ragen_envs.games.twenty_forty_eight.rules import pack, unpack


@st.composite
def boards(draw, sizes=(2, 3, 4), largest=6):
    """Draw the rows of a board with at least one tile up to 2**largest."""
    size = draw(st.sampled_from(sizes))
    numbers = st.lists(st.integers(0, largest), min_size=size**2, max_size=size**2)
    return rows_of(draw(numbers.filter(any)), size)


def rows_of(numbers, size):
    tiles = [1 << number if number else 0 for number in numbers]
    return [tiles[i : i + size] for i in range(0, size**2, size)]


def packed(rows):
    """Return the package's int of a board."""
    return pack(tile.bit_length() - 1 if tile else 0 for row in rows for tile in row)


def unpacked(board, size):
    """Return the rows of the package's int."""
    return rows_of(unpack(board, size**2), size)
