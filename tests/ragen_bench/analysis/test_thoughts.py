"""Plans and claims against what a person reads in the thoughts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.claims import LONGEST_THOUGHT, claims_of
from ragen_bench.analysis.plans import is_followed, read_plan
from ragen_envs.core.scene import Scene
from ragen_envs.games.cube.rules import ACTIONS as TURNS
from ragen_envs.games.frozen_lake.rules import ACTIONS as CLOCKWISE
from ragen_envs.games.mastermind.rules import all_codes
from ragen_envs.games.minesweeper.text import names_of
from ragen_envs.games.sokoban.rules import ACTIONS
from tests.ragen_bench.analysis.thoughts import (
    ARMS,
    BANDIT,
    FRESH,
    FROZEN_LAKE,
    LAKE,
    LATER,
    ROOM,
    SOKOBAN,
)


def places(grid, letters):
    rows = enumerate(grid.split("\n"))
    return frozenset((y, x) for y, row in rows for x, c in enumerate(row) if c in letters)


IN_ROOM = Scene(
    {
        "me": places(ROOM, "@"),
        "box": places(ROOM, "$"),
        "target": places(ROOM, "."),
        "wall": places(ROOM, "#"),
    },
    corners=(1, 4, 1, 4),
    coordinates=True,
)
ON_ICE = Scene(
    {"me": places(LAKE, "S"), "goal": places(LAKE, "G"), "hole": places(LAKE, "H")},
    corners=(0, 3, 0, 3),
)
LABELLED = (
    [(one, ACTIONS, 5, IN_ROOM) for one in SOKOBAN]
    + [(one, CLOCKWISE, 5, ON_ICE) for one in FROZEN_LAKE]
    + [(one, ARMS, 1, None) for one in BANDIT]
)
HELD_OUT = [(one, ACTIONS, 5, IN_ROOM) for one in LATER]
UNSEEN = [(one, ACTIONS, 5, IN_ROOM) for one in FRESH]


def plans(labelled):
    """Return how many plans were read rightly, how many wrongly, and how many there are."""
    right = wrong = 0
    for one, actions, most, _ in labelled:
        found = " ".join(read_plan(one.text, actions, most))
        right += found == one.plan != ""
        wrong += found not in ("", one.plan)
    return right, wrong, sum(one.plan != "" for one, *_ in labelled)


def claims(labelled):
    """Return how many claims were read as labelled, how many not so, and how many there are."""
    right = wrong = there = 0
    for one, _, _, scene in labelled:
        if scene is None:
            continue
        wanted = Counter(one.claims.split())
        found = Counter(map(in_short, claims_of(one.text, scene).read))
        right += (found & wanted).total()
        wrong += (found - wanted).total()
        there += wanted.total()
    return right, wrong, there


def in_short(claim):
    return f"{claim.thing}-{claim.other}{'+' if claim.true else '-'}".replace("-@", "@")


def test_there_is_enough_to_judge_by():
    assert len(LABELLED) >= 60
    assert len({one.text for one, *_ in LABELLED + HELD_OUT}) == len(LABELLED + HELD_OUT)


def test_what_is_read_is_right_and_most_of_it_is_read():
    assert plans(LABELLED) == (34, 0, 34)
    assert claims(LABELLED) == (41, 0, 45)


def test_thoughts_in_another_manner():
    # Right, wrong and there: what the documentation says of both.
    assert plans(HELD_OUT) == (9, 1, 11)
    assert claims(HELD_OUT) == (17, 0, 21)
    assert plans(UNSEEN) == (12, 0, 14)
    assert claims(UNSEEN) == (13, 0, 14)


@pytest.mark.parametrize(
    ("plan", "answered", "expected"),
    [
        ("Up Left", "Up Left", True),
        ("Up Left Up", "Up Left", True),
        ("Up", "Up Left", True),
        ("Left", "Up Left", False),
        ("Up Up", "Up Left", False),
        ("", "Up", False),
        ("Up", "", False),
    ],
)
def test_agreement_goes_as_far_as_the_shorter_one(plan, answered, expected):
    assert is_followed(plan.split(), answered.split()) is expected


def test_an_arm_may_have_any_name_and_only_the_last_choice_counts():
    arms = ("Sofa (old)", "A+")
    assert read_plan("I choose the Sofa (old), because it is steady.", arms, 1) == ("Sofa (old)",)
    assert read_plan("I pick Dragon. No, I pick Teacher.", ARMS, 1) == ("Teacher",)
    assert read_plan("I pick Dragon. No, I pick Teacher.", ARMS, 2) == ("Dragon", "Teacher")


@pytest.mark.parametrize(
    ("thought", "plan"),
    [
        ("So U' || R2 || F.", "U' R2 F"),
        ("I turn U back: so U'.", "U'"),
        ("Plan: U, R', F2", "U R' F2"),
        ("1. U' 2. R 3. F2", "U' R F2"),
        ("I choose R2.", "R2"),
        ("Do not take U'. I take U.", "U"),
        ("U's row is yellow.", ""),
    ],
)
def test_names_that_begin_alike_are_told_apart(thought, plan):
    assert " ".join(read_plan(thought, TURNS, 5)) == plan


@pytest.mark.parametrize(
    ("thought", "plan"),
    [
        ("C4 has a mine. A4 is safe. I will open A4.", ("A4",)),
        ("B4 is 2 and A1 is 0, so C4 has a mine. I reveal D4.", ("D4",)),
        ("I must not open B2, so I open A5, then see about A4.", ("A5",)),
        ("So my answer is E1.", ("E1",)),
        ("A1 is 1, so B1 or B2 has a mine.", ()),
    ],
)
def test_squares_of_minesweeper_are_opened(thought, plan):
    assert read_plan(thought, names_of(5, 5), 1) == plan


@pytest.mark.parametrize(
    ("thought", "plan"),
    [
        ("A B C got two, so there is no D. I will guess A C B.", ("A C B",)),
        ("D D E was wrong. My guess: A B F.", ("A B F",)),
        ("A B F is ruled out. The best guess is C A F.", ("C A F",)),
        ("A guess could be A B C or A B D.", ()),
        ("A is in the code, B and C are not.", ()),
    ],
)
def test_codes_of_mastermind_are_guessed(thought, plan):
    assert read_plan(thought, all_codes(3).names, 1) == plan


WORDS = {"above": (-1, 0), "below": (1, 0), "left of": (0, -1), "right of": (0, 1)}
SQUARES = st.tuples(st.integers(1, 6), st.integers(1, 6))


@given(
    st.lists(SQUARES, min_size=3, max_size=3, unique=True),
    st.permutations(["me", "box", "target"]),
    st.sampled_from(sorted(WORDS)),
    st.integers(1, 5) | st.none(),
)
def test_a_claim_is_true_where_the_squares_say_so(squares, kinds, word, count):
    scene = Scene({k: frozenset({s}) for k, s in zip(kinds, squares, strict=True)}, (1, 6, 1, 6))
    (thing, a), (other, b) = list(zip(kinds, squares, strict=True))[:2]
    side = f"to the {word}" if word.endswith("of") else word
    measure = f"{count} squares " if count else ""
    names = {"me": "the player", "box": "the box", "target": "the target"}
    (claim,) = claims_of(f"{names[thing]} is {measure}{side} {names[other]}.", scene).read
    down, right = WORDS[word]
    away = (a[0] - b[0]) * down + (a[1] - b[1]) * right
    assert (claim.thing, claim.other) == (thing, other)
    assert claim.true is (away == count if count else away > 0)


DENIALS = {
    "The box is {}.": "The box is not {}.",
    "A box lies {}.": "A box isn't {}.",
    "There is a box {}.": "There is no box {}.",
    "A box stands {}.": "No box is {}.",
}


@given(
    st.lists(SQUARES, min_size=2, max_size=2, unique=True),
    st.sampled_from(
        (
            "above me",
            "directly above me",
            "two squares to the left of the player",
            "next to me",
            "at (2, 3)",
            "in the top left corner",
        )
    ),
    st.sampled_from(sorted(DENIALS.items())),
)
def test_a_denial_is_true_where_what_it_denies_is_not(squares, where, forms):
    me, box = squares
    scene = Scene({"me": frozenset({me}), "box": frozenset({box})}, (1, 6, 1, 6), True)
    said, denied = (claims_of(form.format(where), scene) for form in forms)
    assert [claim.true for claim in denied.read] == [not claim.true for claim in said.read]
    assert all(claim.denies for claim in denied.read)
    assert not any(claim.denies for claim in said.read)
    assert len(denied.read) + denied.unread == 1


@pytest.mark.parametrize(
    "thought",
    [
        "No box is not above me.",
        "The box is not above and to the left of me.",
        "I do not see that the box is above me.",
        "If the box is not above me, I go up.",
        "The box is no longer above me.",
    ],
)
def test_denials_that_may_mean_something_else_are_not_read(thought):
    assert claims_of(thought, IN_ROOM).read == ()


@pytest.mark.parametrize(
    "thought",
    [
        "The possible moves: Left, Right.",
        "Available actions: 1. Up 2. Down",
        "Available actions:\n1. Up\n2. Down",
        "Legal moves:\n\nUp, Down",
        "1. Up is blocked. 2. Down is free.",
        "1. Up 3. Down",
        "I cannot go: 1. Up 2. Down",
        "Plan: LR",
        "The sequence is not U, L",
    ],
)
def test_lists_that_are_no_plan(thought):
    assert read_plan(thought, ACTIONS, 5) == ()


def test_first_letters_are_read_only_where_they_tell_actions_apart():
    assert read_plan("Answer: D", ARMS, 1) == ("Dragon",)
    assert read_plan("Answer: D", ("Dragon", "Dentist"), 1) == ()


@given(st.lists(SQUARES, min_size=2, max_size=2, unique=True), SQUARES, st.booleans())
def test_places_are_read_only_where_they_are_told(squares, place, told):
    me, box = squares
    scene = Scene({"me": frozenset({me}), "box": frozenset({box})}, (1, 6, 1, 6), told)
    found = claims_of(f"I am next to the box. The box is at ({place[0]}, {place[1]}).", scene)
    near = abs(me[0] - box[0]) + abs(me[1] - box[1]) == 1
    assert [claim.true for claim in found.read] == [near, place == box][: 1 + told]
    assert found.unread == 1 - told


@pytest.mark.parametrize("bottom", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_corners_of_a_board_that_is_not_square(bottom, right):
    corner = (2 if bottom else 0), (5 if right else 1)
    scene = Scene({"me": frozenset({corner})}, corners=(0, 2, 1, 5))
    for row in ("top", "bottom"):
        for column in ("left", "right"):
            (claim,) = claims_of(f"I am in the {row} {column} corner.", scene).read
            assert claim.true is ((row == "bottom", column == "right") == (bottom, right))


@pytest.mark.parametrize(("box", "on", "beside"), [((1, 1), True, False), ((1, 2), False, True)])
def test_on_and_beside(box, on, beside):
    scene = Scene({"box": frozenset({box}), "target": frozenset({(1, 1)})}, (1, 4, 1, 4))
    said = claims_of("The box is on the target. The box is next to the target.", scene).read
    assert [claim.true for claim in said] == [on, beside]


@given(st.text(st.characters(), max_size=200))
def test_any_thought_is_read_without_an_error(thought):
    assert read_plan(thought, ACTIONS, 5) is not None
    assert claims_of(thought, IN_ROOM).unread >= 0


@pytest.mark.parametrize(
    "part",
    ["the box is ", "up, ", "go up and ", "is to the left ", "  ", "(", "1. up ", "1. up\n2) go "],
)
def test_what_lies_beyond_a_bound_is_not_read(part):
    # Quadratic reading of the whole would take minutes; the sentences' bound keeps it short.
    for thought in (part * 200_000, (part * 20 + ". ") * 5_000):
        read = thought[:LONGEST_THOUGHT]
        assert read_plan(thought, ACTIONS, 5) == read_plan(read, ACTIONS, 5)
        assert claims_of(thought, IN_ROOM) == claims_of(read, IN_ROOM)
