"""Sudoku by brute force, which knows nothing of the package. Grids are lists of rows."""

from itertools import permutations, product

SIZES = {"Sudoku-v0": 4, "SudokuLarge-v0": 6}


def box(size, y, x):
    """Return the number of the box of a cell: two rows high in both sizes."""
    width = {4: 2, 6: 3}[size]
    return y // 2, x // width


def rows_of(grid):
    """Return the rows of a string of cells."""
    size = {16: 4, 36: 6}[len(grid)]
    return [grid[i : i + size] for i in range(0, len(grid), size)]


def groups(size):
    """Return the cells of each row, column and box."""
    cells = list(product(range(size), repeat=2))
    found = [[cell for cell in cells if cell[0] == y] for y in range(size)]
    found += [[cell for cell in cells if cell[1] == x] for x in range(size)]
    boxes = sorted({box(size, *cell) for cell in cells})
    return found + [[cell for cell in cells if box(size, *cell) == each] for each in boxes]


def repeats(rows, y, x):
    """Return whether a group of the cell has its digit twice."""
    return any(
        [rows[v][u] for v, u in group].count(rows[y][x]) > 1
        for group in groups(len(rows))
        if (y, x) in group
    )


def solutions(rows, limit=1000):
    """Return up to so many solutions: cell by cell, every digit is tried."""
    size, grid, found = len(rows), [list(row) for row in rows], []
    taken = set()

    def marks(y, x, digit):
        return ("row", y, digit), ("column", x, digit), ("box", box(size, y, x), digit)

    for y, x in product(range(size), repeat=2):
        if grid[y][x] != ".":
            here = marks(y, x, grid[y][x])
            if not taken.isdisjoint(here):
                return []
            taken.update(here)
    empty = [(y, x) for y, x in product(range(size), repeat=2) if grid[y][x] == "."]

    def go_on(number):
        if number == len(empty):
            found.append(["".join(row) for row in grid])
            return
        y, x = empty[number]
        for digit in "123456"[:size]:
            here = marks(y, x, digit)
            if len(found) < limit and taken.isdisjoint(here):
                taken.update(here)
                grid[y][x] = digit
                go_on(number + 1)
                taken.difference_update(here)

    go_on(0)
    return found


def orders(size, band):
    """Return the orders of lines in which those of a band stay together."""
    return [
        order
        for order in permutations(range(size))
        if all(
            order[i] // band == order[j] // band
            for i in range(size)
            for j in range(size)
            if i // band == j // band
        )
    ]


def image(rows, by_rows, by_columns, names, is_turned=False):
    """Return a grid with other orders of the lines and other names of the digits."""
    moved = ["".join(rows[y][x] for x in by_columns) for y in by_rows]
    if is_turned:
        moved = ["".join(column) for column in zip(*moved, strict=True)]
    table = str.maketrans("123456"[: len(rows)], "".join(names))
    return [row.translate(table) for row in moved]


def canonical_small(rows):
    """Return the least image of a grid of 4x4, of all 3,072."""
    return min(
        image(rows, by_rows, by_columns, names, is_turned)
        for by_rows in orders(4, 2)
        for by_columns in orders(4, 2)
        for names in permutations("1234")
        for is_turned in (False, True)
    )


HEADS = {4: "  A  B | C  D", 6: "  A  B  C | D  E  F"}
LINES = {4: "-------+------", 6: "----------+---------"}


def draw(givens, rows):
    """Return a grid as the observations show it, written once more."""
    size = len(rows)
    lines = [HEADS[size]]
    for y, (given, row) in enumerate(zip(givens, rows, strict=True)):
        if y and y % 2 == 0:
            lines.append(LINES[size])
        line = str(y + 1)
        for x, (old, new) in enumerate(zip(given, row, strict=True)):
            line += "| " if x == size // 2 else " "
            line += new + (" " if new == old else "*")
        lines.append(line.rstrip())
    return "\n".join(lines)
