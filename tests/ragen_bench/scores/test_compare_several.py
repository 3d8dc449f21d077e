"""Several runs, each beside the first."""

from statistics import fmean

import pytest

from ragen_bench.errors import UserError
from ragen_bench.scores.compare import compare_with_first, describe_close
from tests.ragen_bench.scores.pairs import compare

from .compared import LAKE, SOKOBAN, cut, means

pytestmark = pytest.mark.xdist_group("compare")  # its runs are made once


def test_each_run_is_compared_with_the_first(random_run, oracle_run, other_seed):
    found = compare_with_first([random_run, oracle_run, other_seed])
    of_all = [means(run, "success") for run in (random_run, oracle_run, other_seed)]
    for differences, of_other in zip(found["comparisons"], of_all[1:], strict=True):
        for row in differences["envs"]:
            keys = [key for key in of_other if key[0] == row["env"]]
            by_hand = fmean(of_all[0][key] - of_other[key] for key in keys)
            assert row["success"]["difference"] == pytest.approx(by_hand, abs=1e-6)
    assert found["comparisons"][0] == compare(random_run, oracle_run)
    assert {**found["comparisons"][1], "notes": ["seed: 0 in A, 1 in B"]} == compare(
        random_run, other_seed
    )
    assert found["comparisons"][1]["notes"] == ["seed: 0 in A, 1 in C"]
    assert [(run["name"], run["model"], run["episodes"]) for run in found["runs"]] == [
        ("A", "random", 56),
        ("B", "oracle", 84),
        ("C", "random", 56),
    ]


def test_runs_that_are_not_above_blind_players_are_named(random_run, oracle_run, other_seed):
    found = compare_with_first([oracle_run, random_run, other_seed])
    for differences in found["comparisons"]:
        for row in differences["envs"]:
            assert row["blind"]["close"] == ["b"]
            if row["env"] == LAKE:
                row["blind"]["close"] = ["a"]
    assert describe_close(found) == (
        "Not shown to be above random or blind: A in FrozenLake-v0; B, C in Bandit-v0, Sokoban-v0"
    )
    found = compare_with_first([random_run, oracle_run])
    assert describe_close(found) == "Not shown to be above random or blind: A everywhere"
    assert describe_close(compare_with_first([oracle_run, oracle_run])) == ""


def test_a_third_run_goes_by_its_letter(random_run, changed):
    part = changed("part")
    cut(part, 27)
    notes = compare_with_first([random_run, random_run, part])["comparisons"][1]["notes"]
    assert notes[:2] == [
        "C is incomplete: 27 of 56 episodes",
        f"{SOKOBAN}: 8 instances in A, 2 in C; the 2 in both are compared",
    ]
    with pytest.raises(
        UserError, match=r"\(A\) and \S+ \(C\) cannot .*: split: test in A, val in C"
    ):
        compare_with_first([random_run, random_run, changed("other", split="val")])
