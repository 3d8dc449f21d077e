"""Bands of runs, put together from those of some and of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.studies.results import join_bands, make_band

CURVES = st.lists(
    st.dictionaries(st.integers(-1, 6), st.floats(-5, 5), min_size=1).map(
        lambda points: sorted(points.items())
    ),
    max_size=4,
)


def test_a_band_has_mean_lowest_and_highest_of_the_iterations_that_all_runs_have():
    curves = [[(0, 1.0), (1, 2.0), (2, 9.0)], [(0, 3.0), (1, 2.5)], [(0, 2.0), (1, 6.0)]]
    assert make_band(curves) == [[0, 2.0, 1.0, 3.0], [1, 3.5, 2.0, 6.0]]
    assert make_band([]) == []


@given(CURVES, CURVES)
def test_a_joined_band_is_that_of_all_runs(one, other):
    expected = make_band([*one, *other])
    found = join_bands(make_band(one), make_band(other), (len(one), len(other)))
    assert [point[0] for point in found] == [point[0] for point in expected]
    for point, wanted in zip(found, expected, strict=True):
        assert point == pytest.approx(wanted, abs=1e-12)
