from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.games.countdown.expressions import expression_of
from ragen_envs.games.countdown.solver import count_solutions, partitions, solution
from tests.cases import examples
from tests.ragen_envs.games.countdown import reference

dealt = st.lists(st.integers(1, 25), min_size=1, max_size=4).map(sorted).map(tuple)
tiles = st.lists(st.sampled_from([*range(1, 11), 25, 50, 75, 100]), min_size=5, max_size=6)


def solutions(numbers, target):
    return tuple(count_solutions(numbers, target))


@settings(max_examples=examples(60))
@given(dealt, st.integers(1, 99))
def test_solutions_are_those_of_the_brute_force(numbers, target):
    assert solutions(numbers, target) == reference.solutions(numbers, target)


@settings(max_examples=3)
@given(st.lists(st.integers(1, 12), min_size=5, max_size=5).map(sorted).map(tuple))
def test_solutions_of_five_numbers_are_those_of_the_brute_force(numbers):
    """Those sets are too large for tables, and their ways are found by what is missing."""
    for target in (1, 7, 100):
        assert solutions(numbers, target) == reference.solutions(numbers, target)


def shortest(numbers, target):
    return next((size for size, ways in enumerate(solutions(numbers, target), 1) if ways), None)


@settings(max_examples=examples(60))
@given(st.one_of(dealt, tiles.map(sorted).map(tuple)), st.integers(1, 999))
def test_the_solution_is_one_with_as_few_numbers_as_there_is_one(numbers, target):
    if shortest(numbers, target) is None:
        with pytest.raises(ValueError, match=f"no way from .* to {target}"):
            solution(numbers, target)
        return
    text = solution(numbers, target)
    found = expression_of(text)
    assert found.value == target == reference.worked_out(text)
    assert found.text == text
    assert len(found.numbers) == shortest(numbers, target)
    assert Counter(found.numbers) <= Counter(numbers)


@pytest.mark.parametrize(
    ("numbers", "target", "counts"),
    [
        ((1, 1), 1, (2, 2)),  # 1 and 1; 1 * 1 and 1 / 1
        ((2, 4), 2, (1, 2)),  # 4 - 2 and 4 / 2
        ((6,), 5, (0,)),
    ],
)
def test_solutions_by_hand(numbers, target, counts):
    assert solutions(numbers, target) == reference.solutions(numbers, target) == counts


@pytest.mark.parametrize("size", range(1, 7))
def test_partitions_are_all_ways_to_divide_a_set(size):
    everything = (1 << size) - 1
    found = partitions(everything)
    assert len(found) == len({frozenset(pair) for pair in found}) == 2 ** (size - 1) - 1
    for smaller, larger in found:
        assert smaller | larger == everything
        assert not smaller & larger
        assert 0 < smaller.bit_count() <= larger.bit_count()
