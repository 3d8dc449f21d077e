import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.sokoban.bitboard import bitboard, check_size, nth_bit, repeat_bits
from ragen_envs.games.sokoban.rules import Level, move
from ragen_envs.games.sokoban.solver import Solver, solver
from tests.cases import examples, first_fast
from tests.ragen_envs.games.sokoban import reference
from tests.ragen_envs.games.sokoban.test_rules import drawn, rooms


def levels(boxes):
    """Rooms with as many targets as boxes: further targets become floor, missing ones are put."""

    def balanced(xsb):
        plain = xsb.replace(".", " ").replace("*", "$").replace("+", "@")
        count = plain.count("$")
        free = [i for i, c in enumerate(plain) if c in " $@"]
        return st.permutations(free).map(lambda order: with_targets(plain, order[:count]))

    return rooms(boxes).flatmap(balanced)


def with_targets(plain, targets):
    on = {" ": ".", "$": "*", "@": "+"}
    return "".join(on[c] if i in targets else c for i, c in enumerate(plain))


@settings(max_examples=examples(150))
@given(levels(2), st.lists(st.integers(0, 3), max_size=12))
def test_distances_agree_with_brute_force(xsb, actions):
    level = Level(xsb, 0)
    found = Solver(level)
    player, boxes = level.player, level.boxes
    for action in actions:
        player, boxes = move(level.walls, player, boxes, level.steps[action])
    assume(reference.shortest(drawn(level, player, boxes), 0) is None or actions)
    state = drawn(level, player, boxes)
    length = reference.shortest(state)
    assert found.distance(player, boxes) == length
    for moves in (0, 1, 3, 1000):
        plan = found.plan(player, boxes, moves)
        assert len(plan) == min(length or 0, moves)
    for action in plan:
        state = reference.moved(state, reference.offsets(state)[action])
    assert reference.solved(state) == (length is not None)


def test_plans_take_the_first_of_equal_actions():
    # Two ways round: Up, Left, Left, Down or along the other side, and Up comes first.
    level = Level("#######\n#     #\n#.$ # #\n#     #\n#   @ #\n#######", 0)
    found = solver(level)
    plan = found.plan(level.player, level.boxes, 99)
    assert len(plan) == reference.shortest(level.xsb)
    best = None
    for first in range(4):
        after = move(level.walls, level.player, level.boxes, level.steps[first])
        if found.distance(*after) == len(plan) - 1:
            best = first
            break
    assert plan[0] == best


@pytest.mark.parametrize(
    ("xsb", "distance"),
    [
        ("#####\n#@$.#\n#####", 1),
        ("######\n#@ $.#\n######", 2),
        ("#####\n#@*##\n#####", 0),
        ("######\n#$ @.#\n######", None),
        ("#####\n#@$ #\n# .##\n#####", None),
        ("######\n#.$@ #\n######", 1),
        ("#######\n#@$$ .#\n#.    #\n#######", None),
        ("#######\n#  @  #\n# $ $ #\n# . . #\n#     #\n#######", 6),
    ],
)
def test_distances_by_hand(xsb, distance):
    level = Level(xsb, 0)
    assert Solver(level).distance(level.player, level.boxes) == distance
    assert reference.shortest(xsb) == distance


WIDE = """\
##############
#     #      #
#  $  #  .   #
#     #      #
# ### @ ###  #
#            #
#   $    .   #
#     ##     #
##############"""
THREE_BOXES = """\
##########
#   #    #
# $    $ #
#   ## # #
### #  . #
#   #  . #
# $   ## #
#    #   #
#. @     #
##########"""


@pytest.mark.parametrize(("xsb", "length"), first_fast([(WIDE, 46), (THREE_BOXES, 49)]))
def test_a_larger_level_is_solved_by_a_shortest_plan(xsb, length):
    level = Level(xsb, 0)
    found = solver(level)
    assert found.distance(level.player, level.boxes) == length
    plan, state = found.plan(level.player, level.boxes, 99), xsb
    for action in plan:
        assert not reference.solved(state)
        state = reference.moved(state, reference.offsets(state)[action])
    assert reference.solved(state)
    assert len(plan) == length


@pytest.mark.slow
def test_nothing_shorter_solves_the_wide_level():
    assert reference.shortest(WIDE) == 46


def test_answers_do_not_depend_on_what_was_asked_before():
    level = Level("########\n#  @   #\n# $  $ #\n# .  . #\n#      #\n########", 0)
    fresh, tired = Solver(level), Solver(level)
    corner = 1 << level.stride + 1
    assert tired.distance(level.player, corner | level.boxes & -level.boxes) is None
    for found in (fresh, tired):
        assert found.distance(level.player, level.targets) == 0
        assert found.distance(level.player, level.boxes) == reference.shortest(level.xsb) == 7


def test_what_can_be_searched():
    for height, width, boxes in [(100, 100, 1), (10, 10, 3), (6, 6, 4), (2, 5, 7)]:
        check_size(height, width, boxes)
    for height, width, boxes in [(101, 100, 1), (10, 11, 3), (5, 8, 4), (3, 3, 8)]:
        with pytest.raises(ValueError, match=f"{height}x{width} squares within its walls, boxes"):
            check_size(height, width, boxes)


def test_a_level_that_is_too_large_says_what_is_possible():
    level = Level(f"{'#' * 20}\n#@{'$.' * 4}{' ' * 9}#\n" * 6 + "#" * 20, 0)
    with pytest.raises(ValueError, match="up to 464 for 2, up to 100 for 3, up to 39 for 4, "):
        solver(level)


@given(st.integers(0, 2**9 - 1), st.integers(0, 12), st.integers(0, 70))
def test_copies_of_bits(bits, stride, times):
    expected = 0
    for i in range(times):
        expected |= bits << stride * i
    assert repeat_bits(bits, stride, times) == expected


def test_solvers_are_kept():
    level = Level("#####\n#@$.#\n#####", 1)
    assert solver(level) is solver(Level("#####\n#@$.#\n#####", 1))


@given(st.integers(1, 400), st.integers(0, 10**6))
def test_the_nth_bit(size, seed):
    stream = RandomStream("bits", seed)
    bits = [i for i in range(size) if stream.below(3) == 0]
    number = sum(1 << i for i in bits)
    assert [nth_bit(number, n, size) for n in range(len(bits))] == bits


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.integers(0, 10**6))
def test_states_are_numbered_and_named_alike(height, width, boxes, seed):
    board = bitboard(height, width, boxes)
    if board.cells <= boxes:
        return
    player, *cells = RandomStream("cells", seed).sample(range(board.cells), boxes + 1)
    state = board.bit(player, cells)
    assert state.bit_count() == 1
    assert board.cells_of(state.bit_length() - 1) == (player, tuple(cells))
    for cell in range(board.cells):
        assert bool(board.with_box_on([cell]) & state) == (cell in cells)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**25 - 1))
def test_ends_of_lines_by_coordinates(height, width, bits):
    board = bitboard(height, width, 1)
    cells = {divmod(i, width) for i in range(height * width) if bits >> i & 1}
    found = board.ends_of_lines(sum(1 << y * width + x for y, x in cells))
    expected = {
        (y, x)
        for y, x in cells
        for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1))
        if {(y + dy, x + dx), (y + 2 * dy, x + 2 * dx)} <= cells
    }
    assert {divmod(i, width) for i in range(found.bit_length()) if found >> i & 1} == expected
