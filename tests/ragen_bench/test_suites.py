"""Selections of environments."""

import hashlib
import json
from pathlib import Path

import pytest

from ragen_bench import suites
from ragen_bench.errors import UserError
from ragen_bench.suites import SUITES
from ragen_envs.registration import GAMES, IDS

LARGER = "ragen/TwentyQuestions-v0"
TWENTY_QUESTIONS = {LARGER: 60, "ragen/TwentyQuestionsNewCategories-v0": 31}
ENTRIES = Path(__file__).parents[2] / "leaderboard/entries"


@pytest.mark.parametrize("entry", sorted(ENTRIES.iterdir()), ids=lambda entry: entry.name)
def test_a_published_version_keeps_its_instances(entry):
    run = json.loads((entry / "entry.json").read_text(encoding="utf-8"))["run"]
    suite = SUITES[run["suite"]]
    assert suite.version == run["suite_version"]
    assert suite.instances == {env["id"]: env["instances"] for env in run["envs"]}


def test_a_version_of_full_keeps_its_ids():
    ids = [id_ for game in GAMES if game.suite_version <= 7 for id_ in game.ids]
    found = hashlib.sha256(" ".join(sorted(ids)).encode()).hexdigest()[:16]
    assert found == "db423bcbae8c0461", "a new game raises suite_version, see CONTRIBUTING.md"
    assert [*SUITES["full"].chosen] == [*IDS]


def test_the_suites_that_the_games_name_exist():
    assert {*SUITES} >= set().union(*(game.suites for game in GAMES))


def test_select():
    assert suites.select("quick", None, None)["ragen/Sokoban-v0"] == 16
    full = suites.select("full", None, None)
    assert full == {env: suites.held_out_size(env) for env in IDS}
    core = suites.select(None, None, None)
    assert len(core) == 6
    assert core.items() < dict.fromkeys(IDS, 256).items()
    assert suites.select("quick", None, 4) == {
        "ragen/Bandit-v0": 4,
        "ragen/Sokoban-v0": 4,
        "ragen/FrozenLake-v0": 4,
    }
    assert suites.select(None, ["Sokoban-v0", "ragen/Bandit-v0"], 9) == {
        "ragen/Sokoban-v0": 9,
        "ragen/Bandit-v0": 9,
    }
    assert suites.select(None, [*TWENTY_QUESTIONS], 40) == {**TWENTY_QUESTIONS, LARGER: 40}


def test_what_is_all_public_has_no_sealed_split():
    assert not any(suites.has_split(env, "sealed") for env in TWENTY_QUESTIONS)
    assert all(suites.has_split(env, "test") for env in IDS)
    with pytest.raises(
        UserError, match=r"^ragen/Twenty.* has no split 'sealed', .* --split val or test$"
    ):
        suites.make_env(LARGER, "sealed", "plain")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope", None, None), "choose one of: quick, core, core-2, full"),
        ((None, ["Nope-v0"], None), "choose one of: ragen/Bandit-v0, "),
        (("quick", ["Sokoban-v0"], None), "not both"),
        (("quick", None, 0), "between 1 and 256"),
        (("quick", None, 257), "between 1 and 256"),
    ],
)
def test_select_says_what_is_possible(arguments, message):
    with pytest.raises(UserError, match=message) as caught:
        suites.select(*arguments)
    assert caught.value.exit_code == 2
