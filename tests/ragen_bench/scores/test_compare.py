"""Two runs side by side: the figures by hand, and what is said."""

import json
from hashlib import sha256
from statistics import fmean

import pytest

from ragen_bench.scores import compare as comparison
from ragen_bench.scores.baselines import compute_baseline, compute_floor_and_ceiling
from ragen_bench.scores.differences import _format_difference, mean_row
from ragen_bench.scores.summary import summarise
from ragen_bench.statistics import Estimate, wilson
from tests.ragen_bench.scores.pairs import compare

from .compared import BANDIT, BASE, LAKE, SOKOBAN, cut, means, played

pytestmark = pytest.mark.xdist_group("compare")  # its runs are made once


def test_a_difference_beyond_all_possible_ones_is_not_detectable():
    spread = Estimate(0.1, (-0.9, 1.0))
    assert _format_difference(0.6, 0.5, spread)["detectable"] == pytest.approx(1.358, abs=1e-3)
    assert _format_difference(0.6, 0.5, spread, 1.0)["detectable"] is None
    assert mean_row([_format_difference(0.6, 0.5, spread, 1.0)], True, 1.0)["detectable"] is None


def test_the_figures_by_hand(oracle_run, random_run, other_seed):
    found = compare(oracle_run, random_run)
    a, b = means(oracle_run, "success"), means(random_run, "success")
    assert [row["env"] for row in found["envs"]] == [BANDIT, SOKOBAN, LAKE]
    for row in found["envs"]:
        keys = [key for key in a if key[0] == row["env"]]
        assert row["instances"] == len(keys) == BASE.instances[row["env"]]
        of_a, of_b = fmean(a[key] for key in keys), fmean(b[key] for key in keys)
        success = row["success"]
        assert success["a"] == pytest.approx(of_a, abs=1e-6)
        assert success["b"] == pytest.approx(of_b, abs=1e-6)
        assert success["difference"] == pytest.approx(of_a - of_b, abs=1e-6)
        assert success["interval"][0] <= success["difference"] <= success["interval"][1]
        assert row["a_ahead"] is row["b_ahead"] is None  # of three samples and of two
    again = compare(random_run, other_seed)
    a, b = b, means(other_seed, "success")
    for row in again["envs"]:
        keys = [key for key in a if key[0] == row["env"]]
        assert row["a_ahead"] == sum(a[key] > b[key] for key in keys)
        assert row["b_ahead"] == sum(a[key] < b[key] for key in keys)
    assert sum(row["a_ahead"] + row["b_ahead"] for row in again["envs"]) > 0


def test_normalised_scores_are_those_of_the_summaries(oracle_run, random_run):
    found = compare(oracle_run, random_run)
    summaries = summarise(oracle_run), summarise(random_run)
    for row, *sides in zip(found["envs"], *(each["envs"] for each in summaries), strict=True):
        normalised = row["normalised"]
        assert normalised["a"] == pytest.approx(sides[0]["normalised"], abs=1e-4)
        assert normalised["b"] == pytest.approx(sides[1]["normalised"], abs=1e-4)
        scale = normalised["ceiling"] - normalised["floor"]
        # In these games the score is the success.
        wanted = [row["success"]["difference"] / scale] + [
            bound / scale for bound in row["success"]["interval"]
        ]
        shown = [normalised["difference"], *normalised["interval"]]
        assert shown == pytest.approx(wanted, abs=1e-5)
    suite = found["suite"]["normalised"]
    assert suite["a"] == pytest.approx(summaries[0]["suite_score"], abs=1e-4)
    assert suite["b"] == pytest.approx(summaries[1]["suite_score"], abs=1e-4)


def test_the_suite_is_the_mean_of_independent_environments(oracle_run, random_run):
    found = compare(oracle_run, random_run)
    for name in ("success", "normalised"):
        rows, suite = [row[name] for row in found["envs"]], found["suite"][name]
        for side in ("a", "b", "difference"):
            assert suite[side] == pytest.approx(fmean(row[side] for row in rows), abs=1e-6)
        for bound in (0, 1):
            squares = [(row["interval"][bound] - row["difference"]) ** 2 for row in rows]
            reach = abs(suite["interval"][bound] - suite["difference"])
            assert reach == pytest.approx(sum(squares) ** 0.5 / 3, abs=1e-5)


def numbers(figures):
    """Return all numbers of nested figures."""
    if isinstance(figures, dict):
        figures = list(figures.values())
    if isinstance(figures, list):
        return [number for each in figures for number in numbers(each)]
    return [figures] if isinstance(figures, float) else []


def test_figures_have_six_digits_and_not_fewer(oracle_run, random_run):
    found = compare(oracle_run, random_run)
    shown = numbers(found)
    assert shown == [round(number, 6) for number in shown]
    # Of thirds, and of sixteen samples of twelve instances, which end nowhere.
    for row in found["envs"]:
        floor, ceiling = compute_floor_and_ceiling(row["env"], "test", range(row["instances"]))
        assert row["normalised"]["floor"] == round(floor, 6)
        assert row["normalised"]["ceiling"] == round(ceiling, 6)


def test_a_comparison_names_its_runs_and_their_settings(oracle_run, random_run):
    found = compare(oracle_run, random_run)
    assert found["a"] == {"run": str(oracle_run.path), "model": "oracle", "suite": ""}
    assert found["b"] == {"run": str(random_run.path), "model": "random", "suite": ""}
    assert (found["split"], found["response_format"]) == ("test", "think")
    assert found["constrained"] is False


def test_turned_round_the_signs_change(random_run, other_seed):
    one, other = compare(random_run, other_seed), compare(other_seed, random_run)
    assert (one["a"], one["b"]) == (other["b"], other["a"])
    rows, others = [*one["envs"], one["suite"]], [*other["envs"], other["suite"]]
    for row, turned in zip(rows, others, strict=True):
        for name in ("success", "normalised"):
            low, high = turned[name]["interval"]
            assert row[name]["interval"] == pytest.approx([-high, -low], abs=2e-6)
    assert [row["a_ahead"] for row in one["envs"]] == [row["b_ahead"] for row in other["envs"]]


def test_a_run_does_not_differ_from_itself(random_run):
    found = compare(random_run, random_run)
    assert found["notes"] == []
    for row in found["envs"]:
        assert row["success"]["difference"] == row["a_ahead"] == row["b_ahead"] == 0
        share = wilson(0, row["instances"])[1]
        assert row["success"]["interval"] == pytest.approx([-share, share], abs=1e-6)


def test_what_a_server_refused_is_a_difference_and_what_both_refused_is_none(changed):
    refused = {"refused": ["max_tokens", "temperature", "top_p"]}
    asked = changed("asked")
    one = changed("one", model_identity=refused)
    other = changed("other", model_identity=refused, temperature=0.25, seed=1)
    assert compare(asked, one)["notes"] == [
        "refused by the server, which used its default: nothing in A, temperature, top_p in B"
    ]
    assert compare(one, other)["notes"] == ["seed: 0 in A, 1 in B"]


def test_constrained_runs_may_be_compared_with_each_other(changed):
    found = compare(changed("a", constrained=True), changed("b", constrained=True))
    assert found["constrained"] is True
    assert len(found["envs"]) == 3


def test_other_settings_are_said(random_run, changed):
    other = changed(prompt_hash="x", max_tokens=9, temperature=0, history=2, seed=1)
    assert compare(random_run, other)["notes"] == [
        f"prompt_hash: {random_run.config.prompt_hash} in A, x in B",
        "history: null in A, 2 in B",
        "max_tokens: 8 in A, 9 in B",
        "temperature: 1.0 in A, 0 in B",
        "seed: 0 in A, 1 in B",
    ]


def test_only_common_instances_count(random_run, folder):
    other = played(folder / "part", instances={LAKE: 5, "ragen/BanditRev-v0": 2}, model="oracle")
    found = compare(random_run, other)
    assert [(row["env"], row["instances"]) for row in found["envs"]] == [(LAKE, 5)]
    values = means(random_run, "success")
    assert found["envs"][0]["success"]["a"] == pytest.approx(
        fmean(values[LAKE, index] for index in range(5)), abs=1e-6
    )
    assert found["notes"] == [
        f"{BANDIT}: 12 instances in A, 0 in B; the 0 in both are compared",
        f"{SOKOBAN}: 8 instances in A, 0 in B; the 0 in both are compared",
        f"{LAKE}: 8 instances in A, 5 in B; the 5 in both are compared",
        "ragen/BanditRev-v0: 0 instances in A, 2 in B; the 0 in both are compared",
    ]
    floor = compute_baseline("random", LAKE, "test", range(5))
    assert found["envs"][0]["normalised"]["floor"] == floor["score"]
    assert found["envs"][0]["normalised"]["ceiling"] == floor["ceiling"]


def test_an_incomplete_run_is_compared_and_named(random_run, changed):
    other = changed()
    cut(other, 27)
    found = compare(random_run, other)
    # Of Sokoban's second instance, one of two episodes is there: it counts with that one.
    assert [(row["env"], row["instances"]) for row in found["envs"]] == [(BANDIT, 12), (SOKOBAN, 2)]
    assert found["notes"] == [
        "B is incomplete: 27 of 56 episodes",
        f"{SOKOBAN}: 8 instances in A, 2 in B; the 2 in both are compared",
        f"{LAKE}: 8 instances in A, 0 in B; the 0 in both are compared",
    ]
    assert compare(other, random_run)["notes"][0] == "A is incomplete: 27 of 56 episodes"


def test_a_run_of_another_version_has_no_normalised_score(changed):
    envs = [
        {"id": BANDIT, "instances": 12, "spec_hash": "0" * 16},
        *(env.as_json() for env in changed("original").config.envs[1:]),
    ]
    found = compare(changed("a", envs=envs), changed("b", envs=envs))
    assert found["notes"] == [f"{BANDIT}: norm. is omitted: the runs used another version of it"]
    assert [row["normalised"] is None for row in found["envs"]] == [True, False, False]
    scored = [row["normalised"]["a"] for row in found["envs"][1:]]
    assert found["suite"]["normalised"]["a"] == pytest.approx(fmean(scored), abs=1e-6)


def test_no_scale_no_normalised_score(tmp_path):
    run = played(tmp_path / "lake", instances={LAKE: 98}, split="val", samples=1)
    last = run.episodes_file.read_text().splitlines(keepends=True)[-1]
    run.episodes_file.write_text(last)  # a hard lake on which the random player was lucky
    floor, ceiling = compute_floor_and_ceiling(LAKE, "val", [97])
    assert floor > ceiling > 0
    found = compare(run, run)
    said = "norm. is omitted: on these instances the random player is as good as the best one"
    assert found["notes"][-1] == f"{LAKE}: {said}"
    assert found["envs"][0]["normalised"] is found["suite"]["normalised"] is None


def test_a_scale_of_no_length_is_said(random_run, monkeypatch):
    monkeypatch.setattr(comparison, "compute_floor_and_ceiling", lambda *_: (0.5, 0.5))
    found = compare(random_run, random_run)
    said = "norm. is omitted: on these instances the random player is as good as the best one"
    assert found["notes"] == [f"{env}: {said}" for env in (BANDIT, SOKOBAN, LAKE)]
    assert found["suite"]["normalised"] is None


def test_sealed_runs_need_their_key_for_normalised_scores(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", sha256(b"its key").hexdigest())
    run = played(tmp_path / "sealed", instances={SOKOBAN: 2}, split="sealed")
    assert compare(run, run)["envs"][0]["normalised"] is not None
    note = f"{SOKOBAN}: norm. is omitted: the key of the sealed split is missing"
    for other in (sha256(b"another").hexdigest(), None):
        if other:
            monkeypatch.setenv("RAGEN_SEALED_KEY", other)
        else:
            monkeypatch.delenv("RAGEN_SEALED_KEY")
        found = compare(run, run)
        assert found["notes"] == [note]
        assert found["envs"][0]["normalised"] is None
        assert found["envs"][0]["instances"] == 2


def test_floor_and_ceiling_are_those_of_a_summary():
    for env in (BANDIT, LAKE):
        summary = compute_baseline("random", env, "val", range(6))
        found = compute_floor_and_ceiling(env, "val", range(6))
        assert found == pytest.approx((summary["score"], summary["ceiling"]), abs=1e-6)
    of_each = [compute_floor_and_ceiling(LAKE, "val", [index]) for index in (1, 4)]
    both = compute_floor_and_ceiling(LAKE, "val", [1, 4])
    assert both == pytest.approx([fmean(values) for values in zip(*of_each, strict=True)])


def test_normalised_scores_are_of_scores_not_of_successes(random_run, changed):
    other = changed()
    episodes = [json.loads(line) for line in other.episodes_file.read_text().splitlines()]
    lines = [json.dumps({**each, "score": 0.25 + 0.5 * each["success"]}) for each in episodes]
    other.episodes_file.write_text("\n".join(lines) + "\n")
    row = compare(random_run, other)["envs"][0]
    assert row["success"]["difference"] == 0.0
    floor, ceiling = row["normalised"]["floor"], row["normalised"]["ceiling"]
    half = (0.25 + 0.5 * row["success"]["b"] - floor) / (ceiling - floor)
    assert row["normalised"]["b"] == pytest.approx(half, abs=1e-5)
