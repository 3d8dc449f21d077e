"""Buckets and turn budgets against a slow reference."""

from itertools import pairwise
from statistics import fmean
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.statistics import mean_estimate, success_by_difficulty, success_by_turns, wilson


def episode(index, success, turns=1, length=None, ceiling=1.0):
    return SimpleNamespace(
        index=index,
        success=success,
        turns=[None] * turns,
        optimal_length=length,
        ceiling=ceiling,
    )


@st.composite
def runs(draw):
    """Return episodes of instances with lengths and ceilings, some of them played several times."""
    found = []
    for index in range(draw(st.integers(1, 40))):
        length = draw(st.integers(1, 30))
        ceiling = draw(st.floats(0, 1))
        for _ in range(draw(st.integers(1, 3))):
            found.append(
                episode(index, draw(st.booleans()), draw(st.integers(1, 6)), length, ceiling)
            )
    return draw(st.permutations(found))


@pytest.mark.parametrize("measure", ["optimal_length", "ceiling"])
@given(runs())
def test_every_episode_is_in_the_one_bucket_that_its_label_names(measure, episodes):
    buckets = success_by_difficulty(episodes, measure)
    assert 1 <= len(buckets) <= 6
    ends = [tuple(map(float, (bucket.label.split("-") * 2)[:2])) for bucket in buckets]
    if measure == "ceiling":
        ends = [(low + 1e-12 if low else -1, high) for low, high in ends]
    assert all(one[1] < other[0] for one, other in pairwise(ends))
    for bucket, (low, high) in zip(buckets, ends, strict=True):
        inside = [each for each in episodes if low <= getattr(each, measure) <= high]
        clusters = {}
        for each in inside:
            clusters.setdefault(each.index, []).append(each.success)
        assert (bucket.instances, bucket.episodes) == (len(clusters), len(inside))
        assert bucket.success.value == pytest.approx(fmean(each.success for each in inside))
        assert bucket.success == mean_estimate(list(clusters.values()))
    assert sum(bucket.episodes for bucket in buckets) == len(episodes)


def test_few_lengths_have_a_bucket_each():
    episodes = [episode(i, i % 2 == 0, length=2 + i % 6) for i in range(60)]
    buckets = success_by_difficulty(episodes, "optimal_length")
    assert [bucket.label for bucket in buckets] == ["2", "3", "4", "5", "6", "7"]
    assert [bucket.success for bucket in buckets] == [(1.0, wilson(10, 10)), (0, wilson(0, 10))] * 3


def test_six_lengths_have_a_bucket_each_however_many_instances():
    lengths = [1] * 30 + [2, 3, 4, 5, 6]
    episodes = [episode(i, True, length=length) for i, length in enumerate(lengths)]
    buckets = success_by_difficulty(episodes, "optimal_length")
    assert [bucket.label for bucket in buckets] == ["1", "2", "3", "4", "5", "6"]


def test_many_lengths_share_buckets_of_about_equally_many_instances():
    episodes = [episode(i, True, length=1 + i % 12) for i in range(120)]
    buckets = success_by_difficulty(episodes, "optimal_length")
    assert [bucket.label for bucket in buckets] == ["1-2", "3-4", "5-6", "7-8", "9-10", "11-12"]
    assert {bucket.instances for bucket in buckets} == {20}


def test_ceilings_fall_into_fifths_that_hold_their_upper_end():
    ceilings = [0.0, 0.2, 0.2000001, 0.6, 1.0, 1.0]
    episodes = [episode(i, i == 5, ceiling=ceiling) for i, ceiling in enumerate(ceilings)]
    buckets = success_by_difficulty(episodes, "ceiling")
    found = {bucket.label: (bucket.instances, bucket.success.value) for bucket in buckets}
    assert found == {"0.0-0.2": (2, 0), "0.2-0.4": (1, 0), "0.4-0.6": (1, 0), "0.8-1.0": (2, 0.5)}


def test_buckets_depend_on_the_instances_alone():
    lengths = [1, 2, 3, 5, 8, 13, 21, 34]
    weak = [episode(i, False, length=n) for i, n in enumerate(lengths)]
    strong = [episode(i, True, length=n) for i, n in enumerate(lengths) for _ in range(1 + i)]
    of_weak, of_strong = (success_by_difficulty(each, "optimal_length") for each in (weak, strong))
    assert [bucket.label for bucket in of_weak] == [bucket.label for bucket in of_strong]


def test_no_difficulty_no_bucket():
    assert success_by_difficulty([episode(0, True)], "optimal_length") == []
    assert success_by_difficulty([], "ceiling") == []


@given(runs())
def test_success_within_turns_by_counting(episodes):
    rows = success_by_turns(episodes)
    assert len(rows) == max(len(e.turns) for e in episodes)
    for turns, row in enumerate(rows, start=1):
        solved = sum(e.success and len(e.turns) <= turns for e in episodes)
        assert row.value == pytest.approx(solved / len(episodes))
        low, high = row.interval
        assert low <= row.value <= high
    values = [row.value for row in rows]
    assert values == sorted(values)
    clusters = {}
    for each in episodes:
        clusters.setdefault(each.index, []).append(each.success)
    assert rows[-1] == mean_estimate(list(clusters.values()))


def test_an_overflow_before_the_first_turn_counts_as_a_failure():
    rows = success_by_turns([episode(0, True, turns=2), episode(1, False, turns=0)])
    assert [row.value for row in rows] == [0.0, 0.5]
    assert success_by_turns([]) == []
