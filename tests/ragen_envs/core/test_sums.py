"""Sums that are the same in every version of Python."""

import functools
import operator

from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.sums import sum_in_order


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_each_addition_is_rounded(values):
    assert sum_in_order(values) == functools.reduce(operator.add, values, 0.0)


def test_nothing_is_compensated_for():
    assert sum_in_order([1e16, 1.0, -1e16]) == 0.0
    assert sum_in_order([0.1] * 10) == 0.9999999999999999


def test_nothing_sums_to_a_float():
    assert repr(sum_in_order(iter(()))) == "0.0"
