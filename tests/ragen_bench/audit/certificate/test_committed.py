"""The certificates in the docs are whole, and of the environments as they are."""

import json
from pathlib import Path

import pytest

from ragen_bench.audit.certificate import EPISODES, QUESTIONS
from ragen_bench.runs.specification import spec_hash
from ragen_envs import IDS

FOLDER = Path(__file__).parents[4] / "docs" / "results" / "certificates"
NAMES = [env.removeprefix("ragen/") for env in IDS]


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def test_there_is_one_of_every_environment():
    assert {path.stem for path in FOLDER.glob("*.json")} == {*NAMES, "secretary"}


@pytest.mark.parametrize("name", [*NAMES, "secretary"])
def test_it_is_whole(name):
    content = read(name)
    assert content["panel"]["episodes"] == EPISODES
    assert ("blind" in content["panel"]) == (name != "secretary")  # which has no script
    assert [answer["id"] for answer in content["answers"]] == list(QUESTIONS)
    assert not any(row["above"] or row["raised"] for row in content["panel"]["players"][:5])
    failed = [answer["id"] for answer in content["answers"] if answer["status"] == "failed"]
    wanted = [] if name == "secretary" else ["static.dependency_pinning"]
    if content["panel"]["floor"]["score"] == 0:
        wanted.append("statistical.reward_reachability")
    assert failed == wanted


@pytest.mark.parametrize("name", ["Bandit-v0", "Sokoban-v0"])
def test_it_is_of_the_environment_as_it_is(name):
    assert read(name)["specification"] == spec_hash(f"ragen/{name}", "train", "think")
