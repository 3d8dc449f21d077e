import hashlib

from hypothesis import assume, given
from hypothesis import strategies as st

from ragen_envs.games.frozen_lake.rules import ACTIONS, GAME, Lake, Slip, neighbours_of
from tests.ragen_envs.games.frozen_lake import reference
from tests.ragen_envs.support import canonical, images


@st.composite
def lakes(draw, smallest=2, largest=5):
    """Any map, square or not, with holes anywhere; the goal may be out of reach."""
    height, width = draw(st.integers(smallest, largest)), draw(st.integers(smallest, largest))
    size = height * width
    cells = draw(st.lists(st.sampled_from("FFH"), min_size=size, max_size=size))
    start, goal = draw(st.permutations(range(size)))[:2]
    cells[start], cells[goal] = "S", "G"
    return ["".join(cells[i : i + width]) for i in range(0, size, width)]


def lake(rows):
    return Lake("\n".join(rows))


def test_the_actions_go_round():
    assert ACTIONS == ("Up", "Right", "Down", "Left") == tuple(reference.DIRECTIONS)
    assert GAME == "frozen-lake"


@given(st.integers(1, 6), st.integers(1, 6))
def test_neighbours_by_coordinates(height, width):
    rows = ["F" * width] * height
    found = neighbours_of(height, width)
    for y in range(height):
        for x in range(width):
            expected = [reference.step(rows, (y, x), d) for d in reference.DIRECTIONS.values()]
            assert [divmod(n, width + 1) for n in found[y * (width + 1) + x]] == expected


@given(lakes())
def test_reach_agrees_with_a_search_on_coordinates(rows):
    found = lake(rows)
    width = len(rows[0])
    assert found.within_reach.split("\n") == reference.played(rows)
    assert found.shortest_path == reference.shortest(rows)
    assert divmod(found.start, width + 1) == reference.find(rows, "S")


def test_the_odds_of_a_slip():
    assert (Slip().intended, Slip().aside, Slip().total) == (1, 1, 3)
    assert Slip(intended=8, aside=1).total == 10
    assert Slip(intended=2, aside=3).total == 8


@given(lakes(), st.data())
def test_the_digest_knows_no_symmetry(rows, data):
    twin = lake(data.draw(st.sampled_from(images(rows))))
    assert twin.digest == lake(rows).digest
    assert twin.part == lake(rows).part


@given(lakes(), st.data())
def test_what_is_out_of_reach_does_not_count(rows, data):
    inside = reference.reached(rows)
    outside = [
        (y, x)
        for y, row in enumerate(rows)
        for x, c in enumerate(row)
        if (y, x) not in inside and c in "FH"
    ]
    assume(outside)
    y, x = data.draw(st.sampled_from(outside))
    changed = list(rows)
    changed[y] = rows[y][:x] + ("F" if rows[y][x] == "H" else "H") + rows[y][x + 1 :]
    assert lake(changed).digest == lake(rows).digest


@given(lakes(), lakes())
def test_different_lakes_have_different_digests(first, second):
    assume(reference.shortest(first) and reference.shortest(second))
    same = canonical(reference.played(first)) == canonical(reference.played(second))
    assert (lake(first).digest == lake(second).digest) == same


def test_a_digest_by_hand():
    # The images of SF/FG are SFFG, FSGF, FGSF and GFFS; the least is FGSF.
    digest = hashlib.sha256(b"frozen-lake\x002x2:FGSF").hexdigest()[:16]
    assert lake(["SF", "FG"]).digest == digest
    # Without the start the images of FF/FG are FFFG, FFGF, FGFF and GFFF.
    first = hashlib.sha256(b"frozen-lake map\x002x2:FFFG").hexdigest()[0]
    parts = ["val"] * 3 + ["test"] * 3 + ["sealed"] * 3 + ["train"] * 7
    assert lake(["SF", "FG"]).part == lake(["FS", "FG"]).part == parts[int(first, 16)]
    assert lake(["SG", "FF"]).digest != digest


def test_a_lake_of_one_row_is_a_lake():
    assert Lake("SFG").shortest_path == 2
