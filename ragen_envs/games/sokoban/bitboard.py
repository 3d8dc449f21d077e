"""Sets of Sokoban states as big ints, and the step from a set back to its predecessors.

A state is the player's cell and the cell of each box, all counted along the rows of the room's
interior (its squares without the outer wall). With n cells, the state (p, b1, b2) is bit
p + n * b1 + n * n * b2, so that moving the player, or the player and a box, is one shift of the
whole set. Boxes are distinguished, which costs a factor of two and saves all bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, permutations, product
from math import isqrt

CellSet = int
"""Cells of the interior, one bit each."""
StateSet = int
"""States, one bit each."""
MOST_STATES = 10**8
"""Bits of the largest sets: 12 MB each, of which a search holds some forty."""


class Bitboard:
    """The constants of an interior's size and number of boxes. Use `bitboard`, which keeps them."""

    def __init__(self, height: int, width: int, boxes: int) -> None:
        check_size(height, width, boxes)
        self.height, self.width, self.boxes = height, width, boxes
        self.cells = n = height * width
        self.weights = [n ** (i + 1) for i in range(boxes)]
        all_cells = (1 << n) - 1
        first_column = sum(1 << width * y for y in range(height))
        self._not_first_column = all_cells & ~first_column
        self._not_last_column = all_cells & ~(first_column << width - 1)
        self._everywhere = repeat_bits(1, n, n**boxes)
        self._free: StateSet = (1 << n ** (boxes + 1)) - 1  # the states in which nothing overlaps
        for pair in combinations((1, *self.weights), 2):
            same = repeat_bits(1, sum(pair), n)
            for weight in {1, *self.weights}.difference(pair):
                same = repeat_bits(same, weight, n)
            self._free &= ~same
        self._one_box_at_0 = [self._others_anywhere(all_cells, i) for i in range(boxes)]
        self._steps = [self._step(dy, dx) for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1))]

    def bit(self, player: int, boxes: Sequence[int]) -> StateSet:
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

    def solved_states(self, floor: CellSet, targets: Sequence[int]) -> StateSet:
        states = 0
        for order in permutations(targets):
            states |= floor << sum(w * t for w, t in zip(self.weights, order, strict=True))
        return states & self._free

    def layers(self, floor: CellSet, targets: Sequence[int]) -> Iterator[StateSet]:
        """Yield the states that are 0, 1, 2, ... moves from solved, until no states are left."""
        placeable = floor * self._everywhere
        arrivals = [placeable & landing for landing, _, _ in self._steps]
        seen = layer = self.solved_states(floor, targets)
        while layer:
            yield layer
            before = 0
            for arrival, (_, delta, pulls) in zip(arrivals, self._steps, strict=True):
                came = layer >> delta if delta > 0 else layer << -delta
                for beside, shift in pulls:
                    pulled = layer & beside
                    if pulled:
                        came |= pulled >> shift if shift > 0 else pulled << -shift
                before |= came & arrival
            layer = before ^ (before & seen)  # three times as fast as before & ~seen
            seen |= layer

    def ends_of_lines(self, cells: CellSet) -> CellSet:
        """Return those of the cells from which a straight line of two more of them leads away."""
        width, inner = self.width, self._not_last_column
        below, right = cells & cells << width, cells & (cells & inner) << 1
        # A cell below another is a pair; so a pair below a pair is a line of three.
        down, across = below & below << width, right & (right & inner) << 1
        return down | down >> 2 * width | across | across >> 2

    def grow(self, cells: CellSet) -> CellSet:
        """Return the cells and their neighbours, perhaps some beyond the last row."""
        width = self.width
        aside = (cells & self._not_last_column) << 1 | (cells & self._not_first_column) >> 1
        return cells | cells << width | cells >> width | aside

    def with_box_on(self, cells: Sequence[int]) -> StateSet:
        states = 0
        for weight, anywhere in zip(self.weights, self._one_box_at_0, strict=True):
            for cell in cells:
                states |= anywhere << weight * cell
        return states

    def _step(self, dy: int, dx: int) -> tuple[StateSet, int, list[tuple[StateSet, int]]]:
        """Return the data to undo a move.

        These are the states in which the player can stand before the move, the shift that undoes
        the move without a push, and for each box the states just after its push with the shift
        that undoes the push.
        """
        delta = dy * self.width + dx
        pushed = []
        cells = [
            y * self.width + x
            for y, x in product(range(self.height), range(self.width))
            if 0 <= y + dy < self.height and 0 <= x + dx < self.width
        ]
        for i, weight in enumerate(self.weights):
            beside = sum(1 << cell + weight * (cell + delta) for cell in cells)
            pushed.append((self._others_anywhere(beside, i), delta * (1 + weight)))
        return sum(1 << cell for cell in cells) * self._everywhere & self._free, delta, pushed

    def _others_anywhere(self, states: StateSet, box: int) -> StateSet:
        """Return the states repeated over all places of the other boxes."""
        for other, weight in enumerate(self.weights):
            if other != box:
                states = repeat_bits(states, weight, self.cells)
        return states


def repeat_bits(bits: int, stride: int, times: int) -> int:
    """Return the union of so many copies of the bits, each moved by the stride from the last.

    The copies double from step to step, so that the work grows with the length of the result.
    """
    copies, done = 0, 0
    for i in range(times.bit_length()):
        if times >> i & 1:
            copies |= bits << stride * done
            done += 1 << i
        if times >> i > 1:
            bits |= bits << (stride << i)
    return copies


def check_size(height: int, width: int, boxes: int) -> None:
    """Raise ValueError, with the possible sizes, for an interior whose states are too many."""
    if (height * width) ** (boxes + 1) <= MOST_STATES:
        return
    largest = []
    for count in range(1, MOST_STATES.bit_length()):
        cells = max(n for n in range(1, isqrt(MOST_STATES) + 1) if n ** (count + 1) <= MOST_STATES)
        if cells <= count:
            break
        largest.append(f"up to {cells} for {count}")
    raise ValueError(
        f"a room of {height}x{width} squares within its walls, boxes: {boxes}, has more states "
        f"than can be searched; squares that can be, by boxes: {', '.join(largest)}"
    )


@lru_cache(maxsize=8)
def bitboard(height: int, width: int, boxes: int) -> Bitboard:
    """Return the constants of a room size, which are kept; see `Bitboard`."""
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
