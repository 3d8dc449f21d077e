"""Writes the oracle's thoughts: true statements about the state and the plan, in several wordings.

`ragen_bench.analysis` can read their wording, so a model that learned from them can be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.scene import DIRECTIONS, Scene, Square

_LEADS = ("So ", "I choose ", "Plan: ")
_COUNTED, _TURNED, _LOOSE = range(3)
_WORDINGS = (_COUNTED, _TURNED, _LOOSE)
"""Wordings of a state: "The box is 2 rows below me", "I am 2 rows above the box", "The box is below
me"."""
_THINGS = ("box", "target", "goal")
_FARTHEST = 7
"""Largest distance in `PHRASES`: that of a board of eight rows and columns."""


class _Fact(NamedTuple):
    """The position of a thing relative to another, in rows down and columns to the right."""

    thing: str
    other: str
    offset: Square


def write_thought(scene: Scene | None, plan: Sequence[str], stream: RandomStream) -> str:
    """Return a thought with the state and the plan, in a wording drawn from the stream.

    In Sokoban it says where the nearest box to move is from the player, and where its target is
    from the box. On ice it says where the goal is, and the holes next to the player. The scene
    is None in a game without a board.
    """
    wording, lead = stream.below(len(_WORDINGS)), _LEADS[stream.below(len(_LEADS))]
    facts = _facts(scene) if scene else ()
    return "".join(_sentence(fact, wording) for fact in facts) + lead + " || ".join(plan)


def _facts(scene: Scene) -> Iterator[_Fact]:
    places = scene.places
    (me,) = places["me"]
    boxes = places.get("box", frozenset()) - places.get("target", frozenset())
    if boxes:
        box = _nearest(me, boxes)
        target = _nearest(box, places["target"] - places["box"])
        yield _Fact("box", "me", _offset(box, me))
        yield _Fact("target", "box", _offset(target, box))
    for goal in places.get("goal", ()):
        yield _Fact("goal", "me", _offset(goal, me))
    for down, right in DIRECTIONS.values():
        if (me[0] + down, me[1] + right) in places.get("hole", ()):
            yield _Fact("hole", "me", (down, right))


def _offset(place: Square, other: Square) -> Square:
    return place[0] - other[0], place[1] - other[1]


def _nearest(place: Square, squares: frozenset[Square]) -> Square:
    """Return the square with the fewest steps, the first in row order among several."""
    return min(squares, key=lambda square: (sum(map(abs, _offset(square, place))), square))


def _sentence(fact: _Fact, wording: int) -> str:
    turned = wording == _TURNED
    thing, other = (fact.other, fact.thing) if turned else (fact.thing, fact.other)
    down, right = (-part if turned else part for part in fact.offset)
    # A hole is always next to the player, so its direction is enough.
    counted = wording != _LOOSE and "hole" not in (thing, other)
    ways = [_way(axis, steps, counted) for axis, steps in enumerate((down, right)) if steps]
    return f"{_subject(thing)}{' and'.join(ways)}{_object(other, beside=bool(right))}"


def _subject(thing: str) -> str:
    return {"me": "I am", "hole": "There is a hole"}.get(thing, f"The {thing} is")


def _way(axis: int, steps: int, counted: bool) -> str:
    direction = (("above", "below"), ("left", "right"))[axis][steps > 0]
    unit = ("row", "column")[axis] + ("s" if abs(steps) > 1 else "")
    return f" {abs(steps)} {unit} {direction}" if counted else f" {direction}"


def _object(other: str, beside: bool) -> str:
    """Return the end of a sentence: right of me, but below me."""
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
"""All phrases of thoughts except actions; a tokenizer may have a token for each."""
