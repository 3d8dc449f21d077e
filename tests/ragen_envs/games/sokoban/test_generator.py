"""Ten thousand train seeds of each size, against searches that know nothing of the package."""

from functools import cache
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.sokoban.env import VARIANTS
from ragen_envs.games.sokoban.generator import Generator
from tests.cases import examples, first_fast
from tests.ragen_envs.games.sokoban import reference
from tests.ragen_envs.support import SOKOBAN, blocks, canonical, held_out_rows, make

SEEDS = 10_000
CHUNK = 2_500
SIZES = {"Sokoban-v0": (6, 1), "SokobanLarge-v0": (8, 2)}


def train_level(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


@cache
def held_out():
    """Return the canonical forms of all held-out levels, under "name-split"."""
    rows = held_out_rows("sokoban/levels", SOKOBAN, "xsb")
    return {key: [canonical(level, "#") for level in levels] for key, levels in rows.items()}


@pytest.mark.slow
@pytest.mark.parametrize("start", first_fast(range(0, SEEDS, CHUNK)))
@pytest.mark.parametrize("name", SIZES)
def test_train_levels_are_well_formed_and_in_no_held_out_set(name, start):
    size, boxes = SIZES[name]
    taken = {form for forms in held_out().values() for form in forms}
    for seed in range(start, start + CHUNK):
        level = train_level(name, seed)
        rows = level.xsb.split("\n")
        assert [len(row) for row in rows] == [size] * size
        assert rows[0] == rows[-1] == "#" * size
        assert {row[0] + row[-1] for row in rows} == {"##"}
        assert set(level.xsb) <= set("# .$*@+\n")
        assert sum(level.xsb.count(c) for c in "@+") == 1
        assert sum(level.xsb.count(c) for c in "$*") == boxes
        assert sum(level.xsb.count(c) for c in ".*+") == boxes
        assert "$" in level.xsb
        assert 3 <= level.optimal_length <= 10
        assert level.part == "train"
        assert not reference.one_push_solves(level.xsb)
        assert canonical(rows, "#") not in taken


@pytest.mark.slow
@pytest.mark.parametrize("start", first_fast(range(0, SEEDS, CHUNK)))
@pytest.mark.parametrize("name", SIZES)
def test_brute_force_agrees_on_every_train_level(name, start):
    wrong = []
    for seed in range(start, start + CHUNK):
        level = train_level(name, seed)
        if reference.shortest(level.xsb, 10) != level.optimal_length:
            wrong.append(seed)
    assert wrong == []


@pytest.mark.parametrize("name", SOKOBAN)
@pytest.mark.parametrize("split", ["val", "test"])
def test_brute_force_agrees_on_the_held_out_levels(name, split):
    found = blocks("sokoban/levels", f"{name}-{split}.xsb")
    assert len(found) == 256
    for figures, rows in found:
        level = "\n".join(rows)
        assert reference.shortest(level, 10) == int(figures["optimal_length"]) >= 3
        assert not reference.one_push_solves(level)


@pytest.mark.parametrize("name", ["SokobanNewVocab-v0", "SokobanCoord-v0"])
def test_the_other_variants_train_on_no_held_out_level_either(name):
    taken = {form for forms in held_out().values() for form in forms}
    for seed in range(1_500):
        assert canonical(train_level(name, seed).xsb.split("\n"), "#") not in taken


def test_no_held_out_level_stands_twice():
    forms = held_out()
    assert len(forms) == 8
    assert all(len(levels) == 256 for levels in forms.values())
    assert len({form for levels in forms.values() for form in levels}) == 8 * 256


@pytest.mark.parametrize("name", SIZES)
def test_digests_and_forms_agree_one_to_one(name):
    pairs = {
        (level.digest, canonical(level.xsb.split("\n"), "#"))
        for level in (train_level(name, seed) for seed in range(3_000))
    }
    assert len(pairs) == len({digest for digest, _ in pairs}) == len({form for _, form in pairs})


def test_the_reference_reads_what_the_package_ships():
    text = files("ragen_envs.games").joinpath("sokoban/levels/Sokoban-v0-test.xsb").read_text()
    assert text.startswith("; 0 optimal_length=8\n######\n#    #\n#  $ #\n#@.  #\n# # ##\n######\n")


@pytest.mark.parametrize("name", SOKOBAN)
def test_the_environment_plays_the_drawn_level(name):
    env = make(name)
    for seed in range(200):
        info = env.reset(seed=seed)[1]
        level = train_level(name, seed)
        assert (info["instance"], info["optimal_length"]) == (level.digest, level.optimal_length)
        assert env._level == level


@pytest.mark.parametrize("name", SIZES)
def test_all_lengths_occur(name):
    lengths = [train_level(name, seed).optimal_length for seed in range(600)]
    counts = [lengths.count(n) for n in range(3, 11)]
    assert sum(counts) == 600
    assert min(counts) > 20


def test_levels_vary():
    levels = {train_level("Sokoban-v0", seed).digest for seed in range(2_000)}
    assert len(levels) > 1_500
    assert len({train_level("SokobanLarge-v0", seed).digest for seed in range(1_000)}) > 990


@settings(max_examples=examples(60))
@given(
    st.integers(4, 8),
    st.integers(4, 8),
    st.integers(1, 2),
    st.integers(3, 12),
    st.integers(0, 10**9),
)
def test_every_size_gives_levels_of_the_stated_length(height, width, boxes, longest, seed):
    generator = Generator(height, width, boxes, longest)
    found = 0
    for _, level in zip(range(40), generator(RandomStream("size", seed)), strict=False):
        if level is None or found >= 2:
            continue
        found += 1
        rows = level.xsb.split("\n")
        assert (len(rows), len(rows[0])) == (height, width)
        assert sum(level.xsb.count(c) for c in "$*") == boxes
        assert 3 <= level.optimal_length <= longest
        assert reference.shortest(level.xsb, longest) == level.optimal_length
        assert reference.fewest_pushes(level.xsb, 1) is None


@pytest.mark.parametrize("seed", range(3))
def test_three_boxes_in_a_room_of_ten(seed):
    level = draw(Generator(height=10, width=10, boxes=3), RandomStream("ten", seed), "train")
    rows = level.xsb.split("\n")
    assert [len(row) for row in rows] == [10] * 10
    assert sum(level.xsb.count(c) for c in "$*") == sum(level.xsb.count(c) for c in ".*+") == 3
    assert reference.shortest(level.xsb, 10) == level.optimal_length


def test_every_row_of_a_large_room_has_walls():
    generator = Generator(height=17, width=12)
    levels = [draw(generator, RandomStream("rows", seed), "train") for seed in range(10)]
    assert all(any("#" in level.xsb.split("\n")[y][1:-1] for level in levels) for y in range(17))


def test_rooms_too_large_to_search_are_refused():
    with pytest.raises(ValueError, match=r"boxes: 4, has .* up to 100 for 3, up to 39"):
        Generator(height=10, width=10, boxes=4)


def test_a_generator_is_a_function_of_its_stream():
    generator = Generator()

    def first(*labels):
        return [
            level for _, level in zip(range(50), generator(RandomStream(*labels)), strict=False)
        ]

    assert first("a") == first("a") != first("b")


def room_of(rows):
    """Return the canonical form of what play does not change: the walls and the targets."""
    emptied = "\n".join(rows).translate(str.maketrans("@+$*", " . ."))
    return canonical(emptied.split("\n"), "#")


@cache
def held_out_rooms():
    rooms = {"val": set(), "test": set()}
    for key, levels in held_out_rows("sokoban/levels", SOKOBAN, "xsb").items():
        rooms[key.rpartition("-")[2]] |= {room_of(level) for level in levels}
    return rooms


def test_val_and_test_share_no_room_and_so_no_state():
    assert not held_out_rooms()["val"] & held_out_rooms()["test"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOKOBAN)
def test_train_shares_no_room_and_so_no_state_with_them(name):
    taken = held_out_rooms()["val"] | held_out_rooms()["test"]
    for seed in range(5_000 if name in SIZES else 1_000):
        assert room_of(train_level(name, seed).xsb.split("\n")) not in taken
