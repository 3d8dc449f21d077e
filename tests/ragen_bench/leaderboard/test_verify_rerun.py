"""Intervals that share a point overlap."""

import pytest

from ragen_bench.leaderboard import compare_rerun


def summary(suite, *envs):
    rows = [
        {"env": f"e{i}", "score": low, "score_interval": [low, high]}
        for i, (low, high) in enumerate(envs)
    ]
    return {"suite_score": suite[0], "suite_score_interval": [*suite], "envs": rows}


@pytest.mark.parametrize(
    ("entry", "rerun", "overlaps"),
    [
        ((0.2, 0.4), (0.3, 0.5), True),
        ((0.3, 0.5), (0.2, 0.4), True),
        ((0.2, 0.8), (0.4, 0.5), True),
        ((0.2, 0.3), (0.3, 0.4), True),
        ((0.2, 0.3), (0.31, 0.4), False),
        ((0.31, 0.4), (0.2, 0.3), False),
    ],
)
def test_overlap(entry, rerun, overlaps):
    wide = (0.0, 1.0)
    for made in (
        compare_rerun(summary(entry, wide), summary(rerun, wide)),
        compare_rerun(summary(wide, wide, entry), summary(wide, wide, rerun)),
    ):
        assert made["reproduced"] == overlaps
        overlap = [made["suite"]["overlap"], *(each["overlap"] for each in made["envs"])]
        assert sorted(overlap) == sorted([overlaps] + [True] * (len(overlap) - 1))


def test_environments_are_matched_by_name():
    a, b = summary((0.0, 1.0), (0.1, 0.2), (0.8, 0.9)), summary((0.0, 1.0), (0.1, 0.2), (0.8, 0.9))
    b["envs"].reverse()
    assert compare_rerun(a, b)["reproduced"]
