"""Who stands beside whom, at which rank, and how the best score rose."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.leaderboard.ranking import (
    build_rankings,
    compute_ranks,
    count_undated,
    history,
)
from tests.ragen_bench.pages.leaderboard.entries import gallery, made, unscored

NUMBER = st.integers(-5, 15).map(lambda number: number / 10)


def given_ranks(*intervals):
    return compute_ranks([((low + high) / 2, (low, high)) for low, high in intervals])


def test_overlapping_intervals_share_a_rank():
    assert given_ranks((0.8, 0.9), (0.75, 0.85), (0.5, 0.6), (0.1, 0.2)) == [1, 1, 3, 4]
    assert given_ranks((0.8, 0.9), (0.7, 0.8)) == [1, 1]  # a shared point is enough
    assert given_ranks((0.8, 0.9), (0.7, 0.799999)) == [1, 2]
    assert given_ranks() == []


def test_a_rank_is_shared_with_its_best_alone():
    # Each overlaps with the one above it, but the third not with the first.
    assert given_ranks((0.8, 0.9), (0.7, 0.85), (0.6, 0.75), (0.5, 0.65)) == [1, 1, 3, 3]


def test_nobody_stands_above_a_higher_score():
    # The third overlaps with the first, but the second does not.
    assert given_ranks((0.8, 0.9), (0.75, 0.79), (0.5, 0.95)) == [1, 2, 2]


@given(st.lists(st.tuples(NUMBER, NUMBER, NUMBER).map(sorted), max_size=12))
def test_ranks_are_as_the_page_explains_them(triples):
    scores = sorted(((b, (a, c)) for a, b, c in triples), key=lambda score: -score[0])
    found = compute_ranks(scores)
    expected = []
    while len(expected) < len(scores):
        rest = scores[len(expected) :]
        low, high = rest[0][1]
        apart = [max(a, low) > min(c, high) for _, (a, c) in rest]
        tied = apart.index(True) if True in apart else len(rest)
        expected += [len(expected) + 1] * tied
    assert found == expected


def test_floor_ceiling_and_those_without_a_score_have_no_rank():
    entries = [
        made("oracle", 1.0, 0.99, 1.01, model="oracle"),
        made("random", 0.0, -0.01, 0.01, model="random"),
        made("good", 0.9, 0.88, 0.995),
        made("bad", -0.2, -0.3, -0.1),
        unscored(made("none")),
    ]
    (ranking,) = build_rankings(entries)
    assert [(rank, entry.directory) for rank, entry in ranking.places] == [
        (None, "oracle"),
        (1, "good"),
        (None, "random"),
        (2, "bad"),
        (None, "none"),
    ]


def test_what_differs_in_the_task_is_in_another_ranking():
    usual = made("usual")
    others = [
        made("suite", suite="full"),
        made("version", suite_version=2),
        made("hash", suite_hash="f" * 16),
        made("split", split="sealed", sealed_key_hash="1" * 64),
        made("key", split="sealed", sealed_key_hash="2" * 64),
        made("constrained", constrained=True),
        made("format", response_format="answer"),
        made("history", history=2),
        made("tokens", max_tokens=999),
    ]
    alike = [made("twin", samples=4, temperature=0.0, model="hf/other", parameters=7)]
    found = build_rankings([*others, usual, *alike])
    assert len(found) == len(others) + 1
    assert sorted(len(ranking.places) for ranking in found) == [1] * len(others) + [2]
    assert len({ranking.anchor for ranking in found}) == len(found)
    assert [ranking.suite for ranking in found] == ["core"] * 9 + ["full"]
    assert (found[0].version, found[1].apart) == (2, ())
    reversed_ = build_rankings([*alike, usual, *reversed(others)])
    assert reversed_ == found


def test_equal_scores_stand_by_name():
    (ranking,) = build_rankings([made("b"), made("c", low=0.3), made("a")])
    assert [(rank, entry.directory) for rank, entry in ranking.places] == [
        (1, "a"),
        (1, "b"),
        (1, "c"),
    ]


def test_the_best_score_by_date():
    ranking = build_rankings(gallery())[0]
    points = history(ranking)
    assert [(point.entry.directory, point.best, point.leads) for point in points] == [
        ("small", -0.1, True),
        ("middle", 0.43, True),
        ("twin", 0.7, True),
        ("large", 0.71, True),
    ]
    assert [round(point.share * 155) for point in points] == [0, 32, 111, 155]  # days
    assert count_undated(ranking) == 1
    assert [rank for rank, _ in ranking.places] == [None, 1, 1, 3, 4, None, 5]


def test_on_one_day_the_better_comes_first_and_a_worse_one_does_not_lead():
    day = {"date": "2026-02-28"}
    entries = [made("worse", 0.2, 0.1, 0.3, **day), made("better", 0.4, 0.3, 0.5, **day)]
    points = history(build_rankings(entries)[0])
    assert [(p.entry.directory, p.best, p.leads, p.share) for p in points] == [
        ("better", 0.4, True, 0.5),
        ("worse", 0.4, False, 0.5),
    ]
    assert history(dataclasses.replace(build_rankings(entries)[0], places=())) == []
