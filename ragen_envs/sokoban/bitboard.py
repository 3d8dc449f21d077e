"""Sets of Sokoban states as big ints, and the step from a set back to its predecessors.

A state is the player's cell and the cell of each box, all counted along the rows of the room's
interior (its squares without the outer wall). With n cells, the state (p, b1, b2) is bit
p + n * b1 + n * n * b2, so that moving the player, or the player and a box, is one shift of the
whole set. Boxes are told apart, which costs a factor of two and saves all bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product

CellSet = int
"""Cells of the interior, one bit each."""
StateSet = int
"""States, one bit each."""


class Bitboard:
    """The constants of one room size and number of boxes. Use `bitboard`, which keeps them.

    Args:
        height: rows of the interior.
        width: columns of the interior.
        boxes: number of boxes.
    """

    def __init__(self, height: int, width: int, boxes: int) -> None:
        self.height, self.width, self.boxes = height, width, boxes
        self.cells = n = height * width
        self.weights = [n ** (i + 1) for i in range(boxes)]
        all_cells = (1 << n) - 1
        first_column = sum(1 << width * y for y in range(height))
        self._not_first_column = all_cells & ~first_column
        self._not_last_column = all_cells & ~(first_column << width - 1)
        self._everywhere = sum(1 << n * block for block in range(n**boxes))
        self._free = self._where_nothing_overlaps()
        self._one_box_at_0 = [self._box_at_0(i) for i in range(boxes)]
        self._steps = [self._step(dy, dx) for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1))]

    def bit(self, player: int, boxes: Sequence[int]) -> StateSet:
        """Return the set of one state."""
        place: int = player + sum(w * b for w, b in zip(self.weights, boxes, strict=True))
        return 1 << place

    def cells_of(self, index: int) -> tuple[int, tuple[int, ...]]:
        """Return the player's and the boxes' cells of the state with this bit number."""
        boxes = []
        index, player = divmod(index, self.cells)
        for _ in range(self.boxes):
            index, box = divmod(index, self.cells)
            boxes.append(box)
        return player, tuple(boxes)

    def solved(self, floor: CellSet, targets: Sequence[int]) -> StateSet:
        """Return all states with a box on each target."""
        states = 0
        for order in permutations(targets):
            states |= floor << sum(w * t for w, t in zip(self.weights, order, strict=True))
        return states & self._free

    def layers(self, floor: CellSet, targets: Sequence[int]) -> Iterator[StateSet]:
        """Yield the states that are 0, 1, 2, ... moves from solved, until there are none."""
        placeable = floor * self._everywhere
        arrivals = [placeable & landing for landing, _, _ in self._steps]
        seen = layer = self.solved(floor, targets)
        while layer:
            yield layer
            before = self._predecessors(layer, arrivals)
            layer = before ^ (before & seen)  # three times as fast as before & ~seen
            seen |= layer

    def ends_of_lines(self, cells: CellSet) -> CellSet:
        """Return those of the cells from which a straight line of two more of them leads away."""
        width, inner = self.width, self._not_last_column
        below, right = cells & cells << width, cells & (cells & inner) << 1
        # A cell below another is a pair; so a pair below a pair is a line of three.
        down, across = below & below << width, right & (right & inner) << 1
        return down | down >> 2 * width | across | across >> 2

    def grown(self, cells: CellSet) -> CellSet:
        """Return the cells and all beside them; perhaps some beyond the last row too."""
        width = self.width
        aside = (cells & self._not_last_column) << 1 | (cells & self._not_first_column) >> 1
        return cells | cells << width | cells >> width | aside

    def with_box_on(self, cells: Sequence[int]) -> StateSet:
        """Return the states in which some box stands on one of the cells."""
        states = 0
        for weight, anywhere in zip(self.weights, self._one_box_at_0, strict=True):
            for cell in cells:
                states |= anywhere << weight * cell
        return states

    def _predecessors(self, layer: StateSet, arrivals: list[StateSet]) -> StateSet:
        before = 0
        for arrival, (_, delta, pulls) in zip(arrivals, self._steps, strict=True):
            came = layer >> delta if delta > 0 else layer << -delta
            for beside, shift in pulls:
                pulled = layer & beside
                if pulled:
                    came |= pulled >> shift if shift > 0 else pulled << -shift
            before |= came & arrival
        return before

    def _step(self, dy: int, dx: int) -> tuple[StateSet, int, list[tuple[StateSet, int]]]:
        """Return what undoing a move needs.

        These are the states in which a player can stand before it (not those in which the shift
        ran over the room's edge), the shift that undoes it without a push, and for each box the
        states just after it was pushed with the shift that undoes that.
        """
        delta = dy * self.width + dx
        standing, pushed = 0, []
        for y, x in product(range(self.height), range(self.width)):
            if 0 <= y + dy < self.height and 0 <= x + dx < self.width:
                standing |= 1 << y * self.width + x
        for i, weight in enumerate(self.weights):
            beside = sum(
                1 << cell + weight * (cell + delta)
                for cell in range(self.cells)
                if standing >> cell & 1
            )
            beside *= self._others_anywhere(i)
            pushed.append((beside, delta * (1 + weight)))
        return standing * self._everywhere & self._free, delta, pushed

    def _box_at_0(self, box: int) -> StateSet:
        return ((1 << self.cells) - 1) * self._others_anywhere(box)

    def _others_anywhere(self, box: int) -> StateSet:
        """Return the factor that repeats a set over all places of the other boxes."""
        factor = 1
        for j, weight in enumerate(self.weights):
            if j != box:
                factor *= sum(1 << weight * cell for cell in range(self.cells))
        return factor

    def _where_nothing_overlaps(self) -> StateSet:
        states = 0
        for cells in permutations(range(self.cells), self.boxes):
            block = ((1 << self.cells) - 1) & ~sum(1 << cell for cell in cells)
            states |= block << sum(w * c for w, c in zip(self.weights, cells, strict=True))
        return states


@lru_cache(maxsize=8)
def bitboard(height: int, width: int, boxes: int) -> Bitboard:
    """Return the constants of a room size, made once a process."""
    return Bitboard(height, width, boxes)


def nth_bit(states: int, n: int, size: int) -> int:
    """Return the number of the n-th set bit, counted from 0, of an int of size bits."""
    base = 0
    while size > 1:
        half = size >> 1
        low = states & ((1 << half) - 1)
        count = low.bit_count()
        if n < count:
            states, size = low, half
        else:
            states >>= half
            n -= count
            base += half
            size -= half
    return base
