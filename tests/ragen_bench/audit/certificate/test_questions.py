"""The questions are OpenEnv's, and a certificate is the same wherever it is written."""

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from ragen_bench.audit import environment
from ragen_bench.audit.certificate import (
    OPENENV,
    POLICY,
    QUESTIONS,
    Evidence,
    certify,
)
from ragen_bench.audit.certificate.scripted_players import PLAYERS
from ragen_bench.audit.subjects import suite_subject
from ragen_bench.runs.specification import spec_hash
from ragen_envs.games.minesweeper.env import MinesweeperEnv

from . import coins

pytestmark = pytest.mark.slow


def policies():
    (folder,) = find_spec("openenv").submodule_search_locations
    return Path(folder) / "validation" / "policies"


def test_the_questions_are_those_of_openenvs_latest_policy():
    assert version("openenv") == OPENENV
    assert max(policies().glob("severity-v*.json")).name == f"severity-{POLICY}.json"
    policy = json.loads((policies() / f"severity-{POLICY}.json").read_text(encoding="utf-8"))
    assert {entry["check_id"] for entry in policy["entries"]} == set(QUESTIONS)
    assert len(QUESTIONS) == 46
    assert policy["bounds"]["min_floor_margin"] == 0.1
    assert policy["bounds"]["max_episode_timeout_s"] == 3600


@pytest.fixture(scope="module")
def found():
    subject = suite_subject("ragen/Bandit-v0")
    return certify(Evidence("ragen/Bandit-v0", subject, episodes=40, levels=20))


def test_every_question_has_evidence_or_a_reason(found):
    content = found.content()
    assert json.loads(found.text()) == content
    assert [row["id"] for row in content["answers"]] == list(QUESTIONS)
    for row in content["answers"]:
        assert bool(row["reason"]) == (row["status"] != "passed"), row
        assert row["evidence"] or row["status"] in ("exempt", "not asked"), row
        assert f"--question {row['id']}" in row["again"]
    assert found.failed == ("static.dependency_pinning",)
    assert content["specification"] == spec_hash("ragen/Bandit-v0", "train", "think")
    assert [row["player"] for row in content["panel"]["players"]] == list(PLAYERS)
    commands = {row["id"]: row["again"] for row in content["answers"]}
    assert commands["semantic.floor_gap"].endswith("semantic.floor_gap --episodes 40")
    assert commands["semantic.oracle_max"].endswith("semantic.oracle_max --levels 20")


def test_of_a_reference_player_the_best_score_is_not_known(monkeypatch):
    monkeypatch.setattr(environment, "held_out_files", lambda *_, **__: iter(()))
    id_ = "ragen/MinesweeperLarge-v0"
    evidence = Evidence(id_, suite_subject(id_), episodes=20, levels=20)
    names = ["semantic.oracle_max", "semantic.floor_gap", "statistical.gameability_gap"]
    answers = certify(evidence, names).answers
    assert [answers[name].status for name in names] == ["exempt", "passed", "passed"]
    assert answers[names[0]].reason.startswith("the oracle is a reference player, and the best")
    assert answers[names[0]].evidence.startswith("a reference player scores what is stated; kit:")
    for name in names[1:]:
        assert "reference player 0.88" in answers[name].evidence


def test_a_reference_player_that_misses_its_estimate_fails(monkeypatch):
    monkeypatch.setattr(environment, "held_out_files", lambda *_, **__: iter(()))
    original = MinesweeperEnv.compute_oracle_info
    monkeypatch.setattr(
        MinesweeperEnv, "compute_oracle_info", lambda *of: {**original(*of), "ceiling": 0.2}
    )
    id_ = "ragen/MinesweeperLarge-v0"
    evidence = Evidence(id_, suite_subject(id_), episodes=20, levels=20)
    assert certify(evidence, ["semantic.oracle_max"]).failed == ("semantic.oracle_max",)


def test_without_openenv_its_evidence_is_not_asked(monkeypatch):
    monkeypatch.setattr(Evidence, "has_openenv", False)
    evidence = Evidence("ragen/Bandit-v0", suite_subject("ragen/Bandit-v0"), episodes=1, levels=1)
    asked = certify(evidence, ["static.manifest", "runtime.state_contract", "runtime.startup"])
    statuses = [answer.status for answer in asked.answers.values()]
    assert statuses == ["not asked", "not asked", "passed"]


def test_a_foreign_environment_is_told_what_it_lacks():
    evidence = Evidence("python:coins:coin", coins.subject(coins.Coin), episodes=20)
    found = certify(evidence)
    assert {answer.status for answer in found.answers.values()} >= {"passed", "exempt"}
    assert found.answers["semantic.floor_gap"].status == "passed"
    assert found.answers["semantic.oracle_max"].status == "passed"
    assert found.answers["static.manifest"].status == "exempt"
    assert found.content()["specification"] is None
