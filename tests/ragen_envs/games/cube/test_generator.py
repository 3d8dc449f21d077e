"""Cubes of the generator, against searches in space that know nothing of the package."""

from collections import Counter
from functools import cache
from itertools import islice

import pytest

from ragen_envs.core.instances import RandomStream, draw, held_out
from ragen_envs.games.cube.env import VARIANTS
from ragen_envs.games.cube.generator import Generator
from ragen_envs.games.cube.rules import ACTIONS
from tests.ragen_envs.games.cube import reference
from tests.ragen_envs.support import blocks, chi_square, make, rare

CUBE = ("Cube-v0", "CubeHard-v0", "CubeNewVocab-v0", "CubeMoves-v0")
LENGTHS = {"CubeHard-v0": (7, 9)}
SEEDS = 1_500


@cache
def ball():
    """Return the distances of all positions within five moves."""
    return {each: length for length, level in enumerate(reference.levels(5)) for each in level}


def shortest(stickers):
    """Return the moves of a shortest solution: from both ends, till the searches meet."""
    here, known = {renamed(stickers)}, set()
    for made in range(5):
        met = [ball()[each] for each in here if each in ball()]
        if met:
            return made + min(met)
        known |= here
        here = {reference.play(each, [move]) for each in here for move in ACTIONS} - known
    raise AssertionError("more than nine moves")


def renamed(stickers):
    """Return a cube with the colours of its unmoved corner named as on the solved one."""
    places = [
        reference.STICKERS.index((-1, -1, -1, *(-axis).tolist()))
        for axis in (reference.Y, reference.Z, reference.X)
    ]
    names = dict(zip([stickers[i] for i in places], "DBL", strict=True))
    across = dict(zip("URFDLB", "DLBURF", strict=True))
    names |= {across[colour]: across[face] for colour, face in names.items()}
    return "".join(names[colour] for colour in stickers)


def train_cube(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


@cache
def held_out_forms():
    """Return the forms in space of the shipped cubes, under "name-split"."""
    return {
        f"{name}-{split}": [
            reference.form(rows[0]) for _, rows in blocks("cube/cubes", f"{name}-{split}.txt")
        ]
        for name in CUBE
        for split in ("val", "test")
    }


def test_no_held_out_cube_stands_twice():
    assert len(held_out_forms()) == 8
    for forms in held_out_forms().values():
        assert len(forms) == len(set(forms)) == 256


def on_the_way(stickers, left):
    """Return the forms of all states on shortest solutions that still take four moves or more."""
    here, forms = {renamed(stickers)}, set()
    while left > 3:
        forms |= {reference.form(each) for each in here}
        left -= 1
        here = {
            after
            for each in here
            for move in ACTIONS
            if length(after := reference.play(each, [move])) == left
        }
    return forms


@cache
def length(stickers):
    return shortest(stickers)


@pytest.mark.slow
def test_splits_share_no_state_on_shortest_solutions_until_three_moves_are_left():
    seen = {"train": set(), "val": set(), "test": set()}
    for name in ("Cube-v0", "CubeMoves-v0"):
        for split in ("val", "test"):
            for figures, rows in blocks("cube/cubes", f"{name}-{split}.txt"):
                seen[split] |= on_the_way(rows[0], int(figures["optimal_length"]))
        for seed in range(300):
            cube = train_cube(name, seed)
            seen["train"] |= on_the_way(cube.stickers, cube.optimal_length)
    for split, other in (("train", "val"), ("train", "test"), ("val", "test")):
        assert not seen[split] & seen[other]
    assert min(map(len, seen.values())) > 80


@pytest.mark.parametrize("name", CUBE)
@pytest.mark.parametrize("split", ["val", "test"])
def test_the_held_out_cubes_are_as_far_as_they_say(name, split):
    least, most = LENGTHS.get(name, (4, 6))
    found = blocks("cube/cubes", f"{name}-{split}.txt")
    assert {int(figures["optimal_length"]) for figures, _ in found} == set(range(least, most + 1))
    for figures, (stickers,) in found[:: 16 if name == "CubeHard-v0" else 1]:
        assert shortest(stickers) == int(figures["optimal_length"])


@pytest.mark.parametrize("name", ["Cube-v0", "CubeHard-v0"])
def test_train_cubes_are_in_no_held_out_set_and_of_every_length(name):
    least, most = LENGTHS.get(name, (1, 6))
    taken = {form for forms in held_out_forms().values() for form in forms}
    cubes = [train_cube(name, seed) for seed in range(SEEDS)]
    lengths = Counter(cube.optimal_length for cube in cubes)
    assert set(lengths) == set(range(least, most + 1))
    assert min(lengths.values()) > SEEDS // 20
    for cube in cubes[::3]:
        assert cube.part == "train"
        assert reference.form(cube.stickers) not in taken
    for cube in cubes[:: 100 if name == "CubeHard-v0" else 5]:
        assert shortest(cube.stickers) == cube.optimal_length


def test_lengths_and_ways_to_hold_are_equally_likely():
    """Of all candidates: those that belong to train have other odds, as all near ones do."""
    cubes = list(islice(Generator(1, 3)(RandomStream("odds")), 4_800))
    lengths = Counter(cube.optimal_length for cube in cubes)
    assert chi_square([lengths[n] for n in (1, 2, 3)], [1, 1, 1]) < rare(2)
    corners = Counter(cube.stickers[14] + cube.stickers[18] + cube.stickers[23] for cube in cubes)
    assert len(corners) == 24
    assert chi_square(list(corners.values()), [1] * 24) < rare(23)


def test_all_positions_of_one_move_are_drawn_alike():
    found = Counter(
        renamed(cube.stickers) for cube in islice(Generator(1, 1)(RandomStream("a")), 2_700)
    )
    assert set(found) == reference.levels(1)[1]
    assert chi_square(list(found.values()), [1] * 9) < rare(8)


def test_a_generator_is_a_function_of_its_stream():
    def first(*labels):
        return list(islice(Generator()(RandomStream(*labels)), 50))

    assert first("a") == first("a") != first("b")


@pytest.mark.parametrize("lengths", [(0, 3), (4, 3), (1, 10)])
def test_lengths_that_there_are_not_are_refused(lengths):
    with pytest.raises(ValueError, match=r"lengths go from 1 to 9, got min_length="):
        Generator(*lengths)


@pytest.mark.parametrize("name", ["Cube-v0", "CubeHard-v0"])
def test_any_key_seals_as_many_cubes_as_are_needed(name):
    for key in ("a", "b", "c"):
        cubes = held_out(make(name).generate_instances, name, "sealed", set(), key)
        assert len({cube.digest for cube in cubes}) == 256
        assert {cube.part for cube in cubes} == {"sealed"}
