"""What is compared of the values that an environment returned."""

import copy
import math
import pickle
import random
import re
import threading
from array import array
from collections import ChainMap, OrderedDict, UserList, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.testing.episodes import first_difference, freeze, without_info


class Thing:
    def __init__(self, value):
        self.value = value


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(plain)
def test_what_is_built_alike_freezes_alike(value):
    again = eval(repr(value), {"nan": math.nan, "inf": math.inf})
    assert freeze(value) == freeze(again)
    assert freeze(Thing(value)) == freeze(Thing(again))
    assert freeze([value]) != freeze(value)
    assert freeze([value, 1]) != freeze([value, True])


def test_order_counts_in_lists_alone():
    assert freeze({"a": 1, "b": 2}) == freeze({"b": 2, "a": 1})
    assert freeze({"x", 1, None}) == freeze({None, "x", 1})
    assert freeze([1, 2]) != freeze([2, 1])
    assert freeze(np.array([1, 2])) != freeze(np.array([2, 1]))
    assert freeze(Thing(1)) != freeze(Thing(2))


def test_a_cycle_ends():
    ring = []
    ring.append(ring)
    assert freeze(ring) == freeze(ring)


def parts(observation, **info):
    return tuple(map(freeze, (observation, 0.0, False, False, info)))


def test_the_first_difference_is_told_at_its_place():
    same = parts("x" * 50 + "a" * 100)
    assert first_difference([same], [same]) is None
    told = first_difference([same, same], [same, parts("x" * 50 + "b" * 100)])
    assert told.startswith(f"turn 1: observation ...{'x' * 20}{'a' * 40}... (+")
    assert f"against ...{'x' * 20}{'b' * 40}... (+" in told
    assert first_difference([parts("", n=1)], [parts("", n=2)]) == "turn 0: info['n'] 1 against 2"
    assert first_difference([parts("", n=1)], [parts("", n=1.0)]) == (
        "turn 0: info['n'] 1 against 1.0 (types int and float)"
    )
    assert first_difference([same, same], [same]) == "one episode has 1 turns, the other 0"


@dataclass
class Point:
    value: object


@dataclass(slots=True, frozen=True)
class Slotted:
    value: object


class Called:
    def __init__(self, value):
        self.value = value

    def __call__(self):
        return self.value


class Locked:
    def __init__(self, value):
        self.value = value
        self.lock = threading.Lock()


class Unpicklable(Point):
    def __reduce_ex__(self, protocol):
        raise ValueError("keep me here")


class Table:
    """No mapping, and pickled as one."""

    def __init__(self, **entries):
        self.entries = entries

    def __setitem__(self, key, value):
        self.entries[key] = value

    def __reduce__(self):
        return Table, (), None, None, iter(self.entries.items())


class Tail(deque):
    pass


class Side(Enum):
    LEFT = 1
    RIGHT = 2


def tail_named(name):
    tail = Tail([1])
    tail.name = name
    return tail


PAIRS = [
    (deque([1, 2]), deque([2, 1])),
    (deque([1], maxlen=2), deque([1], maxlen=3)),
    (tail_named("a"), tail_named("b")),
    (datetime(2020, 1, 1), datetime(2020, 1, 1, microsecond=1)),
    (timedelta(1), timedelta(2)),
    (np.datetime64(1, "s"), np.datetime64(2, "s")),
    (Fraction(1, 2), Fraction(1, 3)),
    (Decimal("1.0"), Decimal("1.00")),
    (UUID(int=1), UUID(int=2)),
    (PurePosixPath("a"), PurePosixPath("b")),
    (re.compile("a"), re.compile("a", re.IGNORECASE)),
    (array("i", [1]), array("i", [2])),
    (array("i", [1]), array("l", [1])),
    (bytearray(b"a"), bytearray(b"b")),
    (range(3), range(4)),
    (MappingProxyType({"a": 1}), MappingProxyType({"a": 2})),
    (ChainMap({"a": 1}), ChainMap({"a": 2})),
    (OrderedDict(a=1), OrderedDict(a=2)),
    ({"a": 1}.values(), {"a": 2}.values()),
    (UserList([1]), UserList([2])),
    (SimpleNamespace(a=1), SimpleNamespace(a=2)),
    (Slotted(1), Slotted(2)),
    (Slotted([deque([1])]), Slotted([deque([2])])),
    (Called(1), Called(2)),
    (partial(max, 1), partial(max, 2)),
    (partial(max, 1), partial(min, 1)),
    (Locked(1), Locked(2)),
    (Unpicklable(1), Unpicklable(2)),
    (Table(a=1), Table(a=2)),
    (Side.LEFT, Side.RIGHT),
    (random.Random(1), random.Random(2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (max, min),
    (Locked, Called),
    (memoryview(b"a"), memoryview(b"b")),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_objects_of_all_sorts_count_with_what_they_hold(one, other):
    assert freeze(one) == freeze(one)
    assert freeze(one) != freeze(other)
    assert freeze({"key": [one]}) != freeze({"key": [other]})
    assert " at 0x" not in repr(freeze(one))
    for copied in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        try:
            again = copied(one)
        except (TypeError, ValueError):
            continue  # a lock, a view, and what refuses it
        assert freeze(again) == freeze(one)


@given(plain)
def test_containers_without_attributes_hold_any_value(value):
    for made in (Slotted, Called, lambda inner: deque([inner])):
        assert freeze(made(value)) == freeze(made(copy.deepcopy(value)))
        assert freeze(made(value)) != freeze(made([value]))


def test_what_a_player_is_told_is_all_but_info():
    steps = [parts("a", seed=1), parts("b", seed=1)]
    others = [parts("a", seed=2), parts("b")]
    assert without_info(steps) == without_info(others)
    assert without_info(steps) != without_info([steps[0], parts("c", seed=1)])
    assert without_info(steps[:1]) != without_info(steps)
    for field in range(4):
        changed = list(steps[1])
        changed[field] = freeze("changed")
        assert without_info([steps[0], tuple(changed)]) != without_info(steps)
