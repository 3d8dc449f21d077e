"""Who stands beside whom, at which rank, and in which table."""

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.leaderboard.ranking import build_boards, build_rankings, compute_ranks
from tests.ragen_bench.pages.leaderboard.entries import ENVS, gallery, made, unscored

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
    assert sum(len(board.rankings) for board in build_boards(found)) == len(found)
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


def test_a_suite_has_one_board_in_the_order_of_the_scores():
    core, quick = build_boards(build_rankings(gallery()))
    assert [(title, place.rank, place.entry.directory) for title, place in core.rows] == [
        ("test split, 01234567", None, "oracle_core_test"),
        ("test split, ffffffff", 1, "old"),
        ("test split, constrained to the form", 1, "tied"),
        ("test split, 01234567", 1, "large"),
        ("test split, 01234567", 1, "twin"),
        ("sealed split", 1, "hidden"),
        ("test split, 01234567", 3, "middle"),
        ("test split, 01234567", 4, "undated"),
        ("test split, 01234567", None, "random_core_test"),
        ("test split, 01234567", 5, "small"),
    ]
    assert {title: ranking.ranked for title, ranking in core.rankings.items()} == {
        "test split, 01234567": 5,
        "test split, ffffffff": 1,
        "test split, constrained to the form": 1,
        "sealed split": 1,
    }
    assert (core.suite.anchor, quick.suite.anchor) == ("core-v1", "quick-v1")
    assert core.axis == (-0.15, 1.05)
    assert core.envs == list(ENVS)


def test_rankings_of_two_sealed_keys_have_names_of_their_own():
    entries = [made(key, split="sealed", sealed_key_hash=key * 64) for key in "12"]
    (board,) = build_boards(build_rankings(entries))
    assert list(board.rankings) == ["sealed split, 11111111", "sealed split, 22222222"]


def test_versions_of_a_suite_have_boards_of_their_own():
    boards = build_boards(build_rankings([made("a"), made("b", suite_version=2)]))
    assert [board.suite.anchor for board in boards] == ["core-v2", "core-v1"]
