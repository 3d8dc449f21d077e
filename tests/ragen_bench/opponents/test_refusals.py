"""Two models in one game: what is not compared, submitted or read."""

import copy

import pytest

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.rules import explain_refusal
from ragen_bench.models import resolve
from ragen_bench.opponents.opponent import ModelPair, Opponent
from ragen_bench.runs.checked import BadRecordError, read_config, read_episode
from ragen_bench.runs.specification import config_problem
from tests.ragen_bench.scores.pairs import compare

from .support import GAME, RULE, finish
from .test_opponent_pair import Batched


def test_runs_against_other_opponents_are_not_compared(run, tmp_path):
    pair = ModelPair(Batched(), resolve("oracle"), "plain")
    other = finish(tmp_path / "other", pair, opponent=Opponent("oracle", "plain"))
    with pytest.raises(UserError, match="cannot be compared: opponent: ") as caught:
        compare(run, other)
    assert '"model": "oracle"' in str(caught.value)
    alone = finish(tmp_path / "alone", Batched(), instances={RULE: 8}, opponent=None)
    with pytest.raises(UserError, match="cannot be compared: opponent: "):
        compare(run, alone)
    same = finish(tmp_path / "same", ModelPair(Batched(), Batched(), "plain"), seed=1)
    [row] = compare(run, same)["envs"]
    assert row["instances"] == 8
    assert row["normalised"]["ceiling"] == 1.0


def test_no_run_of_two_models_becomes_an_entry(run):
    assert "the run has an opponent, on which its scores depend" in explain_refusal(run.config)
    named = read_config({**run.config.as_json(), "suite": "quick"})
    assert explain_refusal(named) == explain_refusal(run.config)


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: {**c, "opponent": 3}, "has opponent 3, which is not an object"),
        (
            lambda c: {**c, "opponent": without(c["opponent"], "model")},
            "has opponent, which lacks model",
        ),
        (
            lambda c: {**c, "opponent": {**c["opponent"], "model_identity": ""}},
            'has opponent.model_identity "", which is not an object',
        ),
        (
            lambda c: {**c, "opponent": {**c["opponent"], "response_format": "xml"}},
            "has opponent.response_format \"xml\", which is not 'think', 'answer' or 'plain'",
        ),
    ],
)
def test_a_configuration_of_another_form(run, change, says):
    with pytest.raises(BadRecordError) as caught:
        read_config(change(run.config.as_json()))
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: without(c, "opponent"), f"names no opponent in {GAME}"),
        (
            lambda c: {**c, "envs": [{**c["envs"][0], "id": RULE}]},
            f"names an opponent in {RULE}",
        ),
        (
            lambda c: {**c, "envs": [*c["envs"], {**c["envs"][0], "id": RULE}]},
            f"names an opponent in {RULE}",
        ),
    ],
)
def test_a_configuration_that_cannot_be(run, change, says):
    assert config_problem(read_config(change(run.config.as_json()))) == says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda e: e.pop("opponent"), "lacks opponent"),
        (
            lambda e: e["opponent"].pop("wrong"),
            "has opponent.wrong null, which is not a number of replies",
        ),
        (lambda e: e["opponent"].update(agreed=99), "has opponent.judged "),
        (
            lambda e: e["opponent"].update(unreadable=-1),
            "has opponent.unreadable -1, which is not a number of replies",
        ),
        (
            lambda e: e["turns"][0].update(opponent=[]),
            "has turns[0].opponent a list of 0, which is not an object",
        ),
        (
            lambda e: e["turns"][0].update(opponent={}),
            "has turns[0].opponent, which lacks observation, answer",
        ),
    ],
)
def test_an_episode_that_cannot_be(episodes, change, says):
    line = copy.deepcopy(episodes[0])
    read_episode(line)
    change(line)
    with pytest.raises(BadRecordError) as caught:
        read_episode(line)
    assert str(caught.value).startswith(says)
