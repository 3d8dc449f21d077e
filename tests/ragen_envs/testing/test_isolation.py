"""Infos that share with the environment what a caller may change."""

from collections import deque

import numpy as np
import pytest

from ragen_envs.testing import CheckFailed, check_info_is_the_callers
from ragen_envs.testing.checks.isolation import _spoil
from ragen_envs.testing.episodes import freeze
from tests.ragen_envs.testing.lamps import LampEnv, subject_of

ring = []
ring.append(ring)

HELD = [
    {"a": 1},
    {},
    [1],
    [],
    deque([1]),
    deque(),
    {1},
    set(),
    bytearray(b"a"),
    bytearray(),
    ([],),
    np.zeros(2),
    np.ones(2),
    np.array([1.0, 0.0, np.nan, np.inf, 1e300]),
    np.array([True, False]),
    np.array(3, np.uint8),
    np.array(["", "a", "0"]),
    np.array([b"", b"?"]),
    np.array([0, 1], "datetime64[s]"),
    np.array([None, "spoiled", 3], object),
    np.array([(0, "a")], dtype=[("x", int), ("y", "U3")]),
    ring,
]


@pytest.mark.parametrize("value", HELD, ids=repr)
def test_whatever_can_be_changed_is_changed(value):
    before = freeze(value)
    entries = value.tolist() if isinstance(value, np.ndarray) and value.ndim else []
    _spoil(value)
    assert freeze(value) != before
    if entries and value.dtype != object and not value.dtype.names:
        assert all(new != old for new, old in zip(value.tolist(), entries, strict=True))


def test_what_is_held_within_is_changed_too():
    inner = [[1], deque([1]), {1}, {"a": 1}, np.zeros(1), bytearray(b"a")]
    _spoil({"list": [inner[0]], "tuple": (inner[1], [inner[2]]), "rest": deque(inner[3:])})
    assert [len(value) for value in inner] == [1, 1, 1, 1, 1, 7]
    assert inner[:4] == [["spoiled"], deque(["spoiled"]), {"spoiled"}, {"spoiled": True}]
    assert inner[4] == 1
    objects = np.array([None], object)
    objects[0] = deque()
    held = objects[0]
    _spoil((objects,))
    assert held == deque(["spoiled"])


def test_what_nobody_can_change_stays():
    frozen = np.arange(3)
    frozen.flags.writeable = False
    values = (1, "a", b"a", None, frozenset({1}), frozen, np.float64(1))
    _spoil(values)
    assert frozen.tolist() == [0, 1, 2]


class Lends(LampEnv):
    """Every info has the environment's own object."""

    def make(self):
        return np.zeros(3)

    def reset(self, *, seed=None, options=None):
        self.lent = self.make()
        return super().reset(seed=seed, options=options)

    def info(self):
        return {**super().info(), "lent": self.lent}


class LendsADeque(Lends):
    def make(self):
        return deque(["a"])


class LendsWithinATuple(Lends):
    def make(self):
        return (1, {"walls": np.zeros((2, 2), bool)})


class Grows(LendsADeque):
    def info(self):
        self.lent.append(self.turn)
        return super().info()


class LendsAReadOnlyArray(Lends):
    def make(self):
        walls = np.zeros(3)
        walls.flags.writeable = False
        return walls


@pytest.mark.parametrize("cls", [Lends, LendsADeque, LendsWithinATuple, Grows])
def test_an_object_of_the_environment_is_found(cls):
    with pytest.raises(CheckFailed, match=r"seed 0, turn 1: .*\n.*holds a list of the environment"):
        check_info_is_the_callers(subject_of(cls))


def test_an_array_that_nobody_can_write_is_the_callers_to_read():
    check_info_is_the_callers(subject_of(LendsAReadOnlyArray))
