"""The numbering of the 3,674,160 positions, and where moves lead from each.

One corner stays where it is. The seven others stand in one of 7! = 5,040 orders and are twisted in
one of 3^6 = 729 ways, since the twist of the last follows. The number of a position is
729 * order + twists; a move changes each of the two without regard to the other.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.cube.rules import FACES, MOVES, normal_form

Numbers = NDArray[np.int32]
ORDERS, TWISTS = 5_040, 729
POSITIONS = ORDERS * TWISTS
SOLVED = 0
_CORNERS = (
    *((3, 4, 9), (2, 8, 17), (0, 16, 21), (1, 20, 5)),
    *((13, 11, 6), (12, 19, 10), (15, 7, 22)),
)
"""The stickers of the seven corners, clockwise from the one on Up or Down."""
_FORM = "".join(4 * face for face in FACES)
_READ = {
    "".join(_FORM[corner[(i - twist) % 3]] for i in range(3)): (piece, twist)
    for piece, corner in enumerate(_CORNERS)
    for twist in range(3)
}
"""From the three letters of a corner to the piece that stands there, and how it is twisted."""
_WRITTEN = {which: letters for letters, which in _READ.items()}
_WEIGHTS = (1, 3, 9, 27, 81, 243)


class Positions:
    """The positions by their numbers. Use `positions`, which makes it once a process.

    Attributes:
        moves: The order and the twists after each move, two arrays of shapes
            (5040,) and (729,).
    """

    def __init__(self) -> None:
        self._orders = list(permutations(range(7)))
        self._order_numbers = {order: number for number, order in enumerate(self._orders)}
        twists = np.array(list(product(range(3), repeat=6)))[:, ::-1]
        self._twists = np.column_stack([twists, -twists.sum(axis=1) % 3])
        self.moves = tuple(self._move_tables(i) for i in range(len(MOVES)))
        # Views of plain ints: indexing them is several times as fast as indexing arrays.
        self._steps = [(orders.data, twists.data) for orders, twists in self.moves]

    def number(self, stickers: str) -> int:
        """Return the number of a cube as it is held; which colour is which does not matter."""
        form = normal_form(stickers)
        pieces = [_READ[form[a] + form[b] + form[c]] for a, b, c in _CORNERS]
        order = self._order_numbers[tuple([piece for piece, _ in pieces])]
        return TWISTS * order + sum(
            [weight * twist for weight, (_, twist) in zip(_WEIGHTS, pieces, strict=False)]
        )

    def stickers(self, number: int) -> str:
        """Return the normal form of the cube of a number."""
        order, twists = divmod(number, TWISTS)
        form = list(_FORM)
        for corner, *which in zip(
            _CORNERS, self._orders[order], self._twists[twists].tolist(), strict=True
        ):
            for place, letter in zip(corner, _WRITTEN[which[0], which[1]], strict=True):
                form[place] = letter
        return "".join(form)

    def after(self, number: int) -> list[int]:
        """Return the numbers of the positions that the moves lead to, in their order."""
        order, twists = divmod(number, TWISTS)
        return [TWISTS * orders[order] + turned[twists] for orders, turned in self._steps]

    def _move_tables(self, move: int) -> tuple[Numbers, Numbers]:
        """Return the orders and twists after a move, derived from its effect on a solved cube."""
        form = "".join(MOVES[move](_FORM))
        pieces = [_READ[form[a] + form[b] + form[c]] for a, b, c in _CORNERS]
        source = [piece for piece, _ in pieces]
        digits = 7 ** np.arange(7)[::-1]
        orders = np.array(self._orders)
        keys = orders @ digits  # they rise, as permutations come in lexicographic order
        twists = (self._twists[:, source] + [twist for _, twist in pieces]) % 3
        return (
            np.searchsorted(keys, orders[:, source] @ digits).astype(np.int32),
            (twists[:, :6] @ _WEIGHTS).astype(np.int32),
        )


@cache
def positions() -> Positions:
    """Return the positions."""
    return Positions()
