"""Records of episodes, with values frozen so that copies and processes can be compared."""

from __future__ import annotations

import copyreg
from collections.abc import Collection, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from functools import lru_cache
from inspect import isroutine
from typing import Any, NamedTuple

import numpy as np

from ragen_envs.core.text_game import Info, ResetOptions
from ragen_envs.testing.failure import shorten

Frozen = tuple[Any, ...]
Parts = tuple[Frozen, ...]
"""The frozen observation, reward, terminated, truncated and info of a step."""

_FIELDS = ("observation", "reward", "terminated", "truncated", "info")
_ATOMS = (str, bytes, bytearray, bool, int, float, complex, type(None))
_DEEPEST = 12
_PROTOCOL = 4
"""Of pickle, the first that asks every object for its slots and its contents."""


def freeze(value: object, depth: int = 0) -> Frozen:
    """Return nested tuples of texts that are equal for equal values.

    NaN equals NaN, and the order of dictionaries and sets does not count. Objects are compared by
    type and pickled state, never by address; functions and classes by name. Cycles end at a fixed
    depth.
    """
    if type(value) is str:  # nearly all that there is
        return ("str", repr(value))
    kind = type(value).__qualname__
    if isinstance(value, _ATOMS):
        return (kind, repr(value))
    if depth == _DEEPEST:
        return (kind,)
    if isinstance(value, np.ndarray):
        return (kind, str(value.dtype), freeze(value.tolist(), depth + 1))
    if isinstance(value, (np.generic, memoryview)):
        return (kind, repr(value.item() if isinstance(value, np.generic) else value.tobytes()))
    if isinstance(value, (Mapping, AbstractSet, list, tuple, ValuesView)):
        return (kind, _frozen_items(value, depth + 1))
    if isinstance(value, type) or isroutine(value):
        return (kind, getattr(value, "__qualname__", ""))
    return (kind, *(freeze(part, depth + 1) for part in _pickled_state(value)))


def _frozen_items(value: Collection[Any], depth: int) -> Frozen:
    if type(value) is tuple and set(map(type, value)) == {str}:
        return _frozen_texts(value)
    if type(value) is dict and set(map(type, value)) == {str}:
        return tuple((("str", repr(k)), freeze(value[k], depth)) for k in sorted(value))
    if isinstance(value, Mapping):
        pairs = ((freeze(k, depth), freeze(v, depth)) for k, v in value.items())
        return tuple(sorted(pairs, key=repr))
    items = (freeze(item, depth) for item in value)
    return tuple(sorted(items, key=repr) if isinstance(value, AbstractSet) else items)


@lru_cache(maxsize=64)
def _frozen_texts(texts: tuple[str, ...]) -> Frozen:
    """Return the items of a tuple: the same legal actions are told in turn after turn."""
    return tuple(("str", repr(text)) for text in texts)


def _pickled_state(value: object) -> tuple[object, ...]:
    """Return the pickled state of an object, or its attributes if it cannot be pickled."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced = reduce(value) if reduce else value.__reduce_ex__(_PROTOCOL)
    except Exception:  # noqa: BLE001 (whatever it raises to say that it is not to be pickled)
        return (getattr(value, "__dict__", None),)
    if isinstance(reduced, str):
        return (reduced,)
    filled: tuple[Any, ...] = (*reduced, None, None, None)
    _, arguments, state, items, pairs = filled[:5]
    return (arguments, state, list(items or ()), dict(pairs or ()))


def without_info(parts: Sequence[Parts]) -> list[Frozen]:
    """Return a trajectory without `info`, which may contain the seed and the noise seed."""
    return [part[:-1] for part in parts]


def first_difference(expected: Sequence[Parts], got: Sequence[Parts]) -> str | None:
    """Return where two trajectories first differ, such as "turn 2: reward ...", or None."""
    for turn, (left_parts, right_parts) in enumerate(zip(expected, got, strict=False)):
        for field, left, right in zip(_FIELDS, left_parts, right_parts, strict=True):
            if left != right:
                name, a, b = _innermost(field, left, right)
                return f"turn {turn}: {name} {_versus(a, b)}"
    if len(expected) != len(got):
        return f"one episode has {len(expected) - 1} turns, the other {len(got) - 1}"
    return None


def _innermost(name: str, left: Frozen, right: Frozen) -> tuple[str, Frozen, Frozen]:
    """Follow a difference into dictionaries with the same keys."""
    if left[0] == right[0] == "dict" and [k for k, _ in left[1]] == [k for k, _ in right[1]]:
        for (key, a), (_, b) in zip(left[1], right[1], strict=True):
            if a != b:
                return _innermost(f"{name}[{_render_part(key)}]", a, b)
    return name, left, right


def _render_part(part: Frozen) -> str:
    inner = part[1] if len(part) == 2 else part
    return inner if isinstance(inner, str) else repr(inner)


def _versus(left: Frozen, right: Frozen) -> str:
    a, b = _render_part(left), _render_part(right)
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(0, same - 20)
    dots = "..." if start else ""
    kinds = "" if left[0] == right[0] else f" (types {left[0]} and {right[0]})"
    cut = (dots + shorten(text[start:], 60) for text in (a, b))
    return f"{' against '.join(cut)}{kinds}"


class PlayedStep(NamedTuple):
    """The result of a step, or of a reset with reward 0.0 and both flags False.

    `info` is a shallow copy, and `parts` has all five values, frozen for comparison.
    """

    observation: str
    reward: Any
    terminated: object
    truncated: object
    info: Info
    parts: Parts

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return bool(self.terminated or self.truncated)


class PlayedEpisode(NamedTuple):
    """An episode, or its beginning; `steps` are the reset, then one step for each response."""

    seed: int
    options: ResetOptions | None
    answers: tuple[str, ...]
    steps: tuple[PlayedStep, ...]

    @property
    def parts(self) -> tuple[Parts, ...]:
        """The frozen steps."""
        return tuple(step.parts for step in self.steps)
