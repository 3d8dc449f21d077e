import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.sokoban.rules import ACTIONS, GAME, Level, move
from tests.ragen_envs.games.sokoban import reference
from tests.ragen_envs.support import canonical, images


@st.composite
def rooms(draw, boxes=3):
    """Any walled room with a player and boxes anywhere, walls and targets at random."""
    height, width = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    cells = draw(
        st.lists(st.sampled_from("  .#"), min_size=height * width, max_size=height * width)
    )
    places = draw(st.permutations(range(height * width)))
    count = draw(st.integers(1, min(boxes, len(places) - 1)))
    for place in places[:count]:
        cells[place] = "*" if cells[place] == "." else "$"
    cells[places[count]] = "+" if cells[places[count]] == "." else "@"
    inside = ["".join(cells[i : i + width]) for i in range(0, len(cells), width)]
    wall = "#" * (width + 2)
    return "\n".join([wall, *(f"#{row}#" for row in inside), wall])


def drawn(level, player, boxes):
    """Return the XSB text of a state of a level."""
    text = []
    for i, symbol in enumerate(level.xsb):
        target = level.targets >> i & 1
        if i == player:
            text.append("+" if target else "@")
        elif boxes >> i & 1:
            text.append("*" if target else "$")
        else:
            text.append({"+": ".", "*": ".", "@": " ", "$": " "}.get(symbol, symbol))
    return "".join(text)


def test_the_actions():
    assert ACTIONS == ("Up", "Down", "Left", "Right")
    assert GAME == "sokoban"


@given(rooms(), st.lists(st.integers(0, 3), max_size=30))
def test_moves_agree_with_characters(xsb, actions):
    level = Level(xsb, 0)
    player, boxes, state = level.player, level.boxes, xsb
    assert drawn(level, player, boxes) == state
    for action in actions:
        player, boxes = move(level.walls, player, boxes, level.steps[action])
        state = reference.moved(state, reference.offsets(state)[action])
        assert drawn(level, player, boxes) == state


def test_a_level_read_by_hand():
    level = Level("#####\n#+$*#\n# . #\n#####", 7)
    assert level.stride == 6
    assert level.steps == (-6, 6, -1, 1)
    assert level.player == 7
    assert level.boxes == 1 << 8 | 1 << 9
    assert level.targets == 1 << 7 | 1 << 9 | 1 << 14
    assert level.walls.bit_count() == 14
    assert level.optimal_length == 7


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        ("#@ #", 1, "# @#"),
        ("#@$ #", 1, "# @$#"),
        ("#@$.#", 1, "# @*#"),
        ("#@* #", 1, "# +$#"),
        ("#+$ #", 1, "#.@$#"),
        ("#@$#", 1, "#@$#"),
        ("#@$$ #", 1, "#@$$ #"),
        ("#@$* #", 1, "#@$* #"),
        ("#@#", 1, "#@#"),
        ("# $@#", -1, "#$@ #"),
        ("#.$@#", -1, "#*@ #"),
        ("#$ @#", -1, "#$@ #"),
    ],
)
def test_one_step(before, step, after):
    wall = "#" * len(before)
    level = Level(f"{wall}\n{before}\n{wall}", 0)
    state = move(level.walls, level.player, level.boxes, step)
    assert drawn(level, *state).split("\n")[1] == after


@given(rooms(), st.data())
def test_the_digest_knows_no_symmetry(xsb, data):
    level = Level(xsb, 3)
    rows = xsb.split("\n")
    image = data.draw(st.sampled_from(images(rows)))
    above, below, left, right = (data.draw(st.integers(0, 3)) for _ in range(4))
    width = len(image[0]) + left + right
    moved = ["#" * width] * above
    moved += ["#" * left + row + "#" * right for row in image]
    moved += ["#" * width] * below
    twin = Level("\n".join(moved), 99)
    assert twin.digest == level.digest
    assert twin.part == level.part


@given(rooms(), rooms())
def test_different_levels_have_different_digests(first, second):
    same = canonical(first.split("\n"), "#") == canonical(second.split("\n"), "#")
    assert (Level(first, 0).digest == Level(second, 0).digest) == same


@given(rooms())
def test_the_digest_is_the_hash_of_the_least_image(xsb):
    # The form said by hand: cropped, height and width in front, the larger first.
    (height, width), cells = canonical(xsb.split("\n"), "#")
    if height != width:
        grid = [cells.decode()[i : i + width] for i in range(0, len(cells), width)]
        tall = [g for g in images(grid) if len(g) >= len(g[0])]
        cells = min("".join(g) for g in tall).encode()
        height, width = max(height, width), min(height, width)
    message = b"sokoban\0%dx%d:%s" % (height, width, cells)
    digest = hashlib.sha256(message).hexdigest()[:16]
    level = Level(xsb, 0)
    assert level.digest == digest


@given(rooms(), st.data())
def test_the_part_knows_walls_and_targets_only(xsb, data):
    emptied = xsb.translate(str.maketrans("@+$*", " . ."))
    free = [i for i, symbol in enumerate(emptied) if symbol in " ."]
    player, *boxes = data.draw(st.permutations(free))[: 1 + sum(c in "$*" for c in xsb)]
    moved = list(emptied)
    for box in boxes:
        moved[box] = "*" if emptied[box] == "." else "$"
    moved[player] = "+" if emptied[player] == "." else "@"
    assert Level("".join(moved), 0).part == Level(xsb, 0).part
