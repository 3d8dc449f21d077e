"""What several tests share: the list of cases, and references that know nothing of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files

import gymnasium
import numpy as np

import ragen_envs
from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.core.protocol import RESPONSE_FORMATS
from ragen_envs.registration import load_class

IDS = ragen_envs.IDS
PUBLIC_SPLITS = ("train", *SHIPPED_SPLITS)
ID_SPLITS = [(id_, split) for id_ in IDS for split in PUBLIC_SPLITS]
ID_FORMATS = [(id_, form) for id_ in IDS for form in RESPONSE_FORMATS]
SOKOBAN = ("Sokoban-v0", "SokobanLarge-v0", "SokobanNewVocab-v0", "SokobanCoord-v0")
FROZEN_LAKE = (
    "FrozenLake-v0",
    "FrozenLakeMild-v0",
    "FrozenLakeLarge-v0",
    "FrozenLakeNewVocab-v0",
    "FrozenLakeCoord-v0",
)
WEBSHOP = ("WebShop-v0", "WebShopFull-v0", "WebShopText-v0")
DESK = ("Desk-v0", "DeskShifting-v0", "DeskHostile-v0")
TWENTY_QUESTIONS = ("TwentyQuestions-v0", "TwentyQuestionsNewCategories-v0")
COUNTDOWN = ("Countdown-v0", "CountdownLarge-v0")
SEALABLE = tuple(id_ for id_ in IDS if load_class(id_).has_sealed)


def held_out_size(id_: str) -> int:
    """Return the number of instances in val, and in test, of an id with or without namespace."""
    name = id_.rpartition("/")[2]
    return load_class(f"ragen/{name}").held_out_size(name)


def make(id_: str, **options):
    """Return the bare environment of an id, with or without its namespace."""
    name = id_ if "/" in id_ else f"ragen/{id_}"
    return gymnasium.make(name, **options).unwrapped


def blocks(folder: str, file: str) -> list[tuple[dict[str, str], list[str]]]:
    """Read a held-out file without the package's reader: the figures and rows of each block."""
    found: list[tuple[dict[str, str], list[str]]] = []
    lines = (
        files("ragen_envs.games").joinpath(folder, file).read_text(encoding="utf-8").splitlines()
    )
    for line in lines:
        if line.startswith(";"):
            _, number, *figures = line.split()
            assert int(number) == len(found)
            found.append((dict(figure.split("=") for figure in figures), []))
        elif line:
            found[-1][1].append(line)
    return found


def held_out_rows(folder: str, names: Iterable[str], extension: str) -> dict[str, list[list[str]]]:
    """Return the rows of all held-out instances, under "name-split"."""
    return {
        f"{name}-{split}": [rows for _, rows in blocks(folder, f"{name}-{split}.{extension}")]
        for name in names
        for split in SHIPPED_SPLITS
    }


def images(rows: Sequence[str]) -> list[list[str]]:
    """Return the eight rotations and reflections of a grid of characters."""
    grid = np.array([list(row) for row in rows])
    turned = [np.rot90(grid, k) for k in range(4)]
    return [["".join(row) for row in image] for g in turned for image in (g, np.fliplr(g))]


def canonical(rows: Sequence[str], blank: str | None = None) -> tuple[tuple[int, ...], bytes]:
    """Return the least of the eight images, cropped to what is not blank."""
    grid = np.frombuffer("".join(rows).encode("ascii"), dtype=np.uint8).reshape(len(rows), -1)
    if blank is not None:
        ys, xs = np.nonzero(grid != ord(blank))
        grid = grid[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
    turned = [np.rot90(grid, k) for k in range(4)]
    return min((g.shape, g.tobytes()) for t in turned for g in (t, np.fliplr(t)))


def chi_square(counts: Sequence[int], weights: Sequence[float]) -> float:
    """Return Pearson's statistic of counts against the odds that they should follow."""
    total, odds = sum(counts), sum(weights)
    expected = [total * w / odds for w in weights]
    return sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True))


def rare(freedom: int) -> float:
    """Return what Pearson's statistic hardly ever exceeds: in one case of some 20,000.

    Source: Wilson and Hilferty 1931, the cube root of chi-square is nearly normal.
    """
    spread = 2 / (9 * freedom)
    return max(25.0, freedom * (1 - spread + 3.9 * spread**0.5) ** 3)


def contingency(pairs: Iterable[tuple[object, object]]) -> float:
    """Return Pearson's statistic for the independence of the two halves of pairs."""
    table = Counter(pairs)
    total = sum(table.values())
    rows, columns = Counter(), Counter()
    for (row, column), count in table.items():
        rows[row] += count
        columns[column] += count
    return sum(
        (table[row, column] - rows[row] * columns[column] / total) ** 2
        / (rows[row] * columns[column] / total)
        for row in rows
        for column in columns
    )


def state_in(first_observation: str) -> str:
    """Return the state's paragraph of a first observation."""
    return first_observation.split("\n\n")[1]
