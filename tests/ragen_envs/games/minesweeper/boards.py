"""Random small boards, for tests that compare with trying everything."""

from hypothesis import assume
from hypothesis import strategies as st

from ragen_envs.games.minesweeper.rules import Opening
from tests.ragen_envs.games.minesweeper import reference


@st.composite
def layouts(draw, sizes=((2, 3), (3, 3), (3, 2), (2, 4))):
    """Draw an empty board's rows, a set of mines, and two different squares without one."""
    height, width = draw(st.sampled_from(sizes))
    rows = ["#" * width] * height
    order = draw(st.permutations(reference.places(rows)))
    count = draw(st.integers(1, min(3, len(order) - 3)))
    return rows, frozenset(order[:count]), order[count : count + 2]


@st.composite
def openings(draw, **options):
    """Draw an opening with something to open."""
    rows, mines, (first, second) = draw(layouts(**options))
    opened = reference.flooded(rows, mines, frozenset(), first)
    if draw(st.booleans()):
        opened = reference.flooded(rows, mines, opened, second)
    assume(len(opened) + len(mines) < len(reference.places(rows)))
    return Opening("\n".join(reference.drawn(rows, mines, opened)), len(mines))


def squares_of(places, width):
    """Return places as the package's set of squares."""
    return sum(1 << y * width + x for y, x in places)
