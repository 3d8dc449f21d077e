"""Intervals over people, and Student's quantiles."""

from math import sqrt

import numpy as np
import pytest

from ragen_bench.statistics import (
    Estimate,
    mean_estimate,
    mean_interval,
    mean_of,
    people_interval,
    student_quantile,
    wilson,
)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423)],
)
def test_quantiles_are_those_of_the_tables(degrees, quantile):
    assert student_quantile(degrees, 0.95) == pytest.approx(quantile, abs=5e-5)


def test_equal_counts_give_the_t_interval_of_the_persons_means():
    means = [0.2, 0.4, 0.45, 0.6]
    deviation = np.std(means, ddof=1)
    half = 3.18245 * deviation / sqrt(4)
    found = people_interval([[value] * 5 for value in means])
    assert found == pytest.approx((np.mean(means) - half, np.mean(means) + half), abs=1e-5)
    unbounded = people_interval([[10 * value] * 5 for value in means], None)
    assert unbounded == pytest.approx((10 * found[0], 10 * found[1]))


def test_people_of_equal_means_are_not_certain():
    assert people_interval([[1.0, 1.0], [1.0]]) == (pytest.approx(wilson(2, 2)[0]), 1.0)
    assert people_interval([[3.0], [3.0]], None) == (3.0, 3.0)


def test_it_covers_people_who_differ_where_instances_alone_do_not():
    generator = np.random.default_rng(0)
    hits = {"instances": 0, "people": 0}
    for _ in range(400):
        skills = generator.beta(2, 2, size=5)
        by_person = [[float(value) for value in generator.random(20) < s] for s in skills]
        clusters = [[value] for values in by_person for value in values]
        for name, people in (("instances", ()), ("people", by_person)):
            low, high = mean_interval(clusters, by_person=people)
            hits[name] += low <= 0.5 <= high
    assert hits["instances"] < 300
    assert hits["people"] >= 370


def test_one_person_and_a_model_have_the_interval_over_instances():
    clusters = [[1.0], [0.0], [1.0]]
    alone = mean_estimate(clusters, [[1.0, 0.0, 1.0]])
    assert alone == mean_estimate(clusters) == Estimate(2 / 3, wilson(2, 3))


def test_distances_of_dependent_estimates_are_added():
    estimates = [Estimate(0.5, (0.4, 0.7)), Estimate(0.7, (0.4, 0.8))]
    assert mean_of(estimates, dependent=True).interval == pytest.approx((0.4, 0.75))
    assert mean_of(estimates).interval == pytest.approx((0.6 - sqrt(0.1) / 2, 0.6 + sqrt(0.05) / 2))
