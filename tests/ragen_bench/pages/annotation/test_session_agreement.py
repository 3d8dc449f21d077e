"""Krippendorff's alpha against his own example and against the definition."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.annotation.session import krippendorff_alpha

# Krippendorff 2011, section C: four observers, twelve units; 0 where there is no rating.
EXAMPLE = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
    (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
)


def test_the_published_example():
    units = [[rating - 1 for rating in unit if rating] for unit in zip(*EXAMPLE, strict=True)]
    assert krippendorff_alpha(units, 5) == pytest.approx(0.815, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=8))
def test_it_is_the_ratio_of_mean_distances(units):
    paired = [unit for unit in units if len(unit) > 1]
    ratings = [rating for unit in paired for rating in unit]

    def distance(a, b):
        low, high = sorted((a, b))
        between = [r for r in ratings if low <= r <= high]
        ends = [r for r in ratings if r in (low, high)]
        return (len(between) - len(ends) / 2) ** 2 if low != high else 0

    within = sum(
        distance(a, b) / (len(unit) - 1) for unit in paired for a, b in permutations(unit, 2)
    )
    overall = [distance(a, b) for a, b in permutations(ratings, 2)]
    found = krippendorff_alpha(units, 3)
    if not any(overall):
        assert found is None
    else:
        expected = 1 - (within / len(ratings)) / (sum(overall) / len(overall))
        assert found == pytest.approx(expected, abs=1e-9)


def test_full_agreement_and_none():
    assert krippendorff_alpha([[0, 0], [2, 2, 2]], 3) == 1
    assert krippendorff_alpha([[0, 2], [2, 0]], 3) < 0
    assert krippendorff_alpha([[1, 1], [1, 1]], 3) is None
    assert krippendorff_alpha([[0], [2]], 3) is None
