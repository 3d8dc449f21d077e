"""Ten thousand train seeds of each size, against a search that knows nothing of the package."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.frozen_lake.env import VARIANTS
from ragen_envs.games.frozen_lake.rules import Generator
from tests.cases import examples, first_fast
from tests.ragen_envs.games.frozen_lake import reference
from tests.ragen_envs.support import (
    FROZEN_LAKE,
    blocks,
    canonical,
    chi_square,
    held_out_rows,
    make,
    state_in,
)

SEEDS = 10_000
CHUNK = 2_500
SIZES = {"FrozenLake-v0": (4, 10), "FrozenLakeLarge-v0": (8, 8)}


def train_lake(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


@cache
def held_out():
    """Return two canonical forms of all held-out maps: as drawn, and as far as it can be played."""
    rows = held_out_rows("frozen_lake/maps", FROZEN_LAKE, "txt")
    return {
        key: [(canonical(lake), canonical(reference.played(lake))) for lake in lakes]
        for key, lakes in rows.items()
    }


def check(rows, size, budget):
    assert [len(row) for row in rows] == [size] * size
    assert set("".join(rows)) <= set("SFHG")
    (sy, sx), (gy, gx) = reference.find(rows, "S"), reference.find(rows, "G")
    assert abs(sy - gy) + abs(sx - gx) >= 2
    length = reference.shortest(rows)
    assert length is not None
    assert 2 <= length <= budget
    return length


@pytest.mark.parametrize("start", first_fast(range(0, SEEDS, CHUNK)))
@pytest.mark.parametrize("name", SIZES)
def test_train_lakes_are_in_reach_not_adjacent_and_in_no_held_out_set(name, start):
    size, budget = SIZES[name]
    assert budget <= VARIANTS[name].budget.max_actions
    taken = {form for forms in held_out().values() for both in forms for form in both}
    for seed in range(start, start + CHUNK):
        lake = train_lake(name, seed)
        rows = lake.map.split("\n")
        assert check(rows, size, budget) == lake.shortest_path
        assert lake.part == "train"
        assert canonical(rows) not in taken
        assert canonical(reference.played(rows)) not in taken


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FROZEN_LAKE if name not in SIZES])
def test_the_other_variants_train_on_no_held_out_lake_either(name):
    taken = {form for forms in held_out().values() for both in forms for form in both}
    for seed in range(2_000):
        rows = train_lake(name, seed).map.split("\n")
        assert canonical(rows) not in taken
        assert canonical(reference.played(rows)) not in taken


@pytest.mark.parametrize("name", FROZEN_LAKE)
@pytest.mark.parametrize("split", ["val", "test"])
def test_the_held_out_lakes_are_in_reach_and_not_adjacent(name, split):
    size, budget = SIZES.get(name, (4, 10))
    found = blocks("frozen_lake/maps", f"{name}-{split}.txt")
    assert len(found) == 256
    for figures, rows in found:
        check(rows, size, budget)
        assert 0 < float(figures["ceiling"]) <= 1


def test_no_held_out_lake_stands_twice():
    forms = held_out()
    assert len(forms) == 10
    assert all(len(lakes) == 256 for lakes in forms.values())
    for lakes in forms.values():
        for kind in (0, 1):
            assert len({both[kind] for both in lakes}) == 256


@pytest.mark.parametrize("name", SIZES)
def test_digests_and_forms_agree_one_to_one(name):
    pairs = {
        (lake.digest, canonical(reference.played(lake.map.split("\n"))))
        for lake in (train_lake(name, seed) for seed in range(3_000))
    }
    assert len(pairs) == len({digest for digest, _ in pairs}) == len({form for _, form in pairs})


@pytest.mark.parametrize("name", FROZEN_LAKE)
def test_the_environment_plays_the_drawn_lake(name):
    env = make(name)
    for seed in range(12):
        first, info = env.reset(seed=seed)
        lake = train_lake(name, seed)
        assert (info["instance"], info["optimal_length"]) == (lake.digest, lake.shortest_path)
        if name == "FrozenLake-v0":
            letters = str.maketrans("SFHG", "P_OG")
            assert state_in(first) == lake.map.translate(letters)


def test_one_square_in_five_is_a_hole():
    lakes = [train_lake("FrozenLakeLarge-v0", seed).map for seed in range(2_000)]
    share = sum(lake.count("H") for lake in lakes) / (2_000 * 62)
    assert abs(share - 0.2) < 0.005  # the choice of lakes in reach shifts it a little


def test_start_and_goal_lie_anywhere():
    counts = {"S": [0] * 16, "G": [0] * 16}
    for seed in range(4_000):
        flat = train_lake("FrozenLake-v0", seed).map.replace("\n", "")
        for symbol, count in counts.items():
            count[flat.index(symbol)] += 1
    # By symmetry the four corners, the eight edge and the four inner squares are each alike.
    for orbit in ([0, 3, 12, 15], [1, 2, 4, 7, 8, 11, 13, 14], [5, 6, 9, 10]):
        for count in counts.values():
            assert chi_square([count[i] for i in orbit], [1] * len(orbit)) < 30
            assert min(count[i] for i in orbit) > 150


@settings(max_examples=examples(60))
@given(st.integers(2, 7), st.integers(2, 14), st.integers(0, 10**9))
def test_every_size_gives_lakes_in_reach(size, longest, seed):
    generator = Generator(size, longest)
    for _, lake in zip(range(20), generator(RandomStream("size", seed)), strict=False):
        if lake is not None:
            assert check(lake.map.split("\n"), size, longest) == lake.shortest_path


def test_a_generator_is_a_function_of_its_stream():
    def first(*labels):
        return [
            lake for _, lake in zip(range(50), Generator()(RandomStream(*labels)), strict=False)
        ]

    assert first("a") == first("a") != first("b")


def ice_of(rows):
    """Return the canonical form of what play does not change: the ice within reach, the goal."""
    return canonical([row.replace("S", "F") for row in reference.played(rows)])


@cache
def held_out_ice():
    ice = {"val": set(), "test": set()}
    for key, maps in held_out_rows("frozen_lake/maps", FROZEN_LAKE, "txt").items():
        ice[key.rpartition("-")[2]] |= {ice_of(rows) for rows in maps}
    return ice


def test_val_and_test_share_no_ice_and_so_no_state():
    assert not held_out_ice()["val"] & held_out_ice()["test"]


@pytest.mark.parametrize("name", FROZEN_LAKE)
def test_train_shares_no_ice_and_so_no_state_with_them(name):
    taken = held_out_ice()["val"] | held_out_ice()["test"]
    for seed in range(2_000):
        assert ice_of(train_lake(name, seed).map.split("\n")) not in taken
