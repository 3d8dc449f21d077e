"""Whose turn it is in a mixture."""

import math
from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.recipes.recipe import interleave


@given(st.lists(st.integers(1, 20), min_size=1, max_size=7))
def test_each_has_its_share_of_any_number(shares):
    turns = interleave(shares)
    assert Counter(turns) == dict(enumerate(shares))
    for number in range(1, len(turns)):
        had = Counter(turns[:number])
        for place, share in enumerate(shares):
            exact = Fraction(number * share, len(turns))
            assert math.floor(exact) <= had[place] <= math.ceil(exact)


@given(st.integers(1, 9), st.integers(1, 9))
def test_equal_shares_take_turns(count, share):
    assert interleave([share] * count) == [*range(count)] * share


def test_three_to_one():
    assert interleave([1, 3]) == [1, 1, 0, 1]
