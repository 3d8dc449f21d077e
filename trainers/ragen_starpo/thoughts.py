"""Thoughts of the oracle: what stands where and what it will do, true in all of several wordings.

They are worded as `ragen_bench.analysis` reads them, so that the thoughts of a model that learned
from them can be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from ragen_bench.analysis.scene import DIRECTIONS, Scene, Square
from ragen_envs.core.instances import RandomStream

_LEADS = ("So ", "I choose ", "Plan: ")
_COUNTED, _TURNED, _LOOSE = range(3)
_STATES = (_COUNTED, _TURNED, _LOOSE)
"""Wordings of a state: "The box is 2 rows below me", "I am 2 rows above the box", "The box is below
me"."""
_THINGS = ("box", "target", "goal")
_FARTHEST = 7
"""Squares that `PHRASES` have a count for: a board of eight rows and columns."""


class _Fact(NamedTuple):
    """Where a thing stands from another: so many rows further down and columns further right."""

    thing: str
    other: str
    away: Square


def thought(scene: Scene | None, plan: Sequence[str], stream: RandomStream) -> str:
    """Return a thought that tells a state and what is done in it.

    It tells of a box the place from the player, and of its target the place from the box: those of
    the nearest box that has to move. On ice it tells the goal's place and the holes next to the
    player.

    Args:
        scene: where things stand; None in a game without a board, whose state is not told.
        plan: names of actions.
        stream: decides the wording.
    """
    state, lead = stream.below(len(_STATES)), _LEADS[stream.below(len(_LEADS))]
    facts = _facts(scene) if scene else ()
    return "".join(_told(fact, state) for fact in facts) + lead + " || ".join(plan)


def _facts(scene: Scene) -> Iterator[_Fact]:
    places = scene.places
    (me,) = places["me"]
    boxes = places.get("box", frozenset()) - places.get("target", frozenset())
    if boxes:
        box = _nearest(me, boxes)
        target = _nearest(box, places["target"] - places["box"])
        yield _Fact("box", "me", _away(box, me))
        yield _Fact("target", "box", _away(target, box))
    for goal in places.get("goal", ()):
        yield _Fact("goal", "me", _away(goal, me))
    for down, right in DIRECTIONS.values():
        if (me[0] + down, me[1] + right) in places.get("hole", ()):
            yield _Fact("hole", "me", (down, right))


def _away(place: Square, other: Square) -> Square:
    return place[0] - other[0], place[1] - other[1]


def _nearest(place: Square, squares: frozenset[Square]) -> Square:
    """Return the square of the fewest steps, the first of several in the order of rows."""
    return min(squares, key=lambda square: (sum(map(abs, _away(square, place))), square))


def _told(fact: _Fact, state: int) -> str:
    """Return a fact as a sentence, with the space behind it."""
    turned = state == _TURNED
    thing, other = (fact.other, fact.thing) if turned else (fact.thing, fact.other)
    down, right = (-part if turned else part for part in fact.away)
    # A hole is next to the player, so that its direction says all.
    counted = state != _LOOSE and "hole" not in (thing, other)
    ways = [_way(axis, steps, counted) for axis, steps in enumerate((down, right)) if steps]
    return f"{_subject(thing)}{' and'.join(ways)}{_object(other, beside=bool(right))}"


def _subject(thing: str) -> str:
    return {"me": "I am", "hole": "There is a hole"}.get(thing, f"The {thing} is")


def _way(axis: int, steps: int, counted: bool) -> str:
    direction = (("above", "below"), ("left", "right"))[axis][steps > 0]
    unit = ("row", "column")[axis] + ("s" if abs(steps) > 1 else "")
    return f" {abs(steps)} {unit} {direction}" if counted else f" {direction}"


def _object(other: str, beside: bool) -> str:
    """Return what a sentence ends with: right of me, but below me."""
    name = {"me": "me", "hole": "a hole"}.get(other, f"the {other}")
    return f"{' of' if beside else ''} {name}. "


PHRASES = (
    *_LEADS,
    " and",
    *map(_subject, ("me", "hole", *_THINGS)),
    *(_object(other, beside) for other, beside in product(("me", "hole", *_THINGS), (False, True))),
    *(
        _way(axis, sign * steps, counted=True)
        for axis, sign, steps in product((0, 1), (-1, 1), range(1, _FARTHEST + 1))
    ),
    *(_way(axis, sign, counted=False) for axis, sign in product((0, 1), (-1, 1))),
)
"""All that thoughts are put together from, actions aside; a tokenizer may have a token for each."""
