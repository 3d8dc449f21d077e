"""The cube once more, in space: stickers with places and directions, turned by matrices.

Nothing is imported from the package.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

X, Y, Z = np.eye(3, dtype=int)
FRAMES = {  # outwards, to the right and down, as one sees the face from outside
    "U": (Y, X, Z),
    "R": (X, -Z, -Y),
    "F": (Z, X, -Y),
    "D": (-Y, X, -Z),
    "L": (-X, Z, -Y),
    "B": (-Z, -X, -Y),
}
SOLVED = "".join(4 * face for face in FRAMES)


def _sticker(place, outwards):
    return (*place.tolist(), *outwards.tolist())


STICKERS = [
    _sticker(out + (2 * column - 1) * right + (2 * row - 1) * down, out)
    for out, right, down in FRAMES.values()
    for row in (0, 1)
    for column in (0, 1)
]
"""Each sticker's place, a corner of the cube from -1 to 1, and where it looks."""


def _moved(matrix, layer=None):
    """Return from which place each sticker comes when a layer, or everything, is moved."""
    sources = [0] * 24
    for i, sticker in enumerate(STICKERS):
        place, outwards = np.array(sticker[:3]), np.array(sticker[3:])
        if layer is None or place @ layer == 1:
            sources[STICKERS.index(_sticker(matrix @ place, matrix @ outwards))] = i
        else:
            sources[i] = i
    return sources


def clockwise(axis):
    """Return the matrix of a quarter turn, clockwise for who looks at the axis's tip."""
    return np.outer(axis, axis) - np.cross(axis, np.eye(3, dtype=int), axisb=0, axisc=0)


def _quarters(face, count):
    out = FRAMES[face][0]
    return _moved(np.linalg.matrix_power(clockwise(out), count), out)


TURNS = {
    face + sign: _quarters(face, count)
    for face in FRAMES
    for sign, count in (("", 1), ("'", 3), ("2", 2))
}
MATRICES = [
    np.array(
        [
            [sign * (i == column) for i in range(3)]
            for sign, column in zip(signs, columns, strict=True)
        ]
    )
    for columns in permutations(range(3))
    for signs in product((1, -1), repeat=3)
]
SYMMETRIES = [_moved(matrix) for matrix in MATRICES]
ROTATIONS = [
    way for way, matrix in zip(SYMMETRIES, MATRICES, strict=True) if np.linalg.det(matrix) > 0
]


def moved(stickers, sources):
    return "".join([stickers[i] for i in sources])


def play(stickers, moves):
    for move in moves:
        stickers = moved(stickers, TURNS[move])
    return stickers


def is_solved(stickers):
    return all(len(set(stickers[i : i + 4])) == 1 for i in range(0, 24, 4))


def form(stickers, ways=SYMMETRIES):
    """Return the least image, with colours numbered as they come."""
    numbered = []
    for way in ways:
        image = moved(stickers, way)
        names = {colour: str(i) for i, colour in enumerate(dict.fromkeys(image))}
        numbered.append("".join([names[colour] for colour in image]))
    return min(numbered)


def held(stickers):
    """Return a cube with the corner of Down, Back and Left where it is when solved."""
    corner = [STICKERS.index((-1, -1, -1, *(-axis).tolist())) for axis in (Y, Z, X)]
    for way in ROTATIONS:
        image = moved(stickers, way)
        if "".join(image[i] for i in corner) == "DBL":
            return image
    raise AssertionError(stickers)


def levels(depth, moves=("U", "U'", "U2", "R", "R'", "R2", "F", "F'", "F2"), key=str):
    """Return the positions at each distance from the solved cube, by breadth-first search."""
    known = {key(SOLVED)}
    found = [{key(SOLVED)}]
    for _ in range(depth):
        reached = {key(play(stickers, [move])) for stickers in found[-1] for move in moves}
        found.append(reached - known)
        known |= reached
    return found
