"""Configurations: recomputed ones are equal, others are named or refused."""

import copy

import pytest

from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError
from ragen_bench.runs.checked import BadRecordError, read_config
from ragen_bench.runs.specification import config_differences, config_problem
from ragen_envs.registration import IDS
from tests.ragen_bench.episodes.replayed import (
    with_changes,
)

pytestmark = pytest.mark.slow


@pytest.mark.slow
def test_the_configuration_is_recomputed(configs):
    config = configs["think"]
    assert list(config_differences(config)) == []
    edited = copy.deepcopy(config.as_json())
    edited["envs"][3]["spec_hash"] = "0" * 16
    edited["prompt_hash"] = "0" * 16
    found = list(config_differences(read_config(edited)))
    assert [one.partition(":")[0] for one in found] == ["prompt_hash", "envs[3].spec_hash"]
    fewer = with_changes(config, envs=config.as_json()["envs"][1:])
    assert [one.partition(":")[0] for one in config_differences(fewer)] == ["suite_hash"]
    assert next(config_differences(with_changes(config, history=1))).startswith("prompt_hash")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": 2}, "has schema 2, which only a newer ragen-bench reads (install one)"),
        ({"response_format": "xml"}, "has response_format \"xml\", which is not 'think', 'answer'"),
        ({"history": "all"}, 'has history "all", which is not a whole number'),
        ({"history": True}, "has history true, which is not a whole number"),
        ({"history": -1}, "has history -1, which is below 0"),
        ({"top_p": 0}, "has top_p 0, which is not above 0"),
        ({"seed": -1}, "has seed -1, which is below 0"),
        ({"samples": 0}, "has samples 0, which is below 1"),
        (
            {"split": []},
            "has split a list of 0, which is not 'train', 'val', 'test', 'sealed' or 'drawn'",
        ),
    ],
)
def test_a_configuration_of_another_form_is_refused(configs, change, says):
    with pytest.raises(BadRecordError) as caught:
        with_changes(configs["think"], **change)
    assert str(caught.value).startswith(says)


def test_a_configuration_that_no_run_can_have_is_refused(configs):
    env = {"id": IDS[0], "instances": 1, "spec_hash": ""}
    chosen = with_changes(configs["think"], split="train", envs=[{**env, "indices": [7]}])
    assert config_problem(chosen) is None
    says = f"chooses instances of {IDS[0]}, which is for the train split"
    assert config_problem(with_changes(chosen, split="val")) == says
    more = with_changes(chosen, envs=[{**env, "indices": [7, 8]}])
    assert config_problem(more) == f"chooses other than 1 instances of {IDS[0]}"
    with pytest.raises(BadRecordError, match=r"envs\[0\].indices\[0\]"):
        with_changes(chosen, envs=[{**env, "indices": [-1]}])
    config = with_changes(configs["think"], envs=[env] * 2)
    assert config_problem(config) == "names an environment twice"
    with pytest.raises(UserError, match=r"^run\.json names an environment twice"):
        list(replay(config, []))
    with pytest.raises(UserError, match=r"^run\.json names an environment twice"):
        list(config_differences(config))
