"""Selections and specification hashes."""

import dataclasses

import pytest

from ragen_bench import suites
from ragen_bench.errors import UserError
from ragen_envs.registration import IDS
from ragen_envs.sokoban import env as sokoban


def test_select():
    assert suites.select("quick", None, None)["ragen/Sokoban-v0"] == 16
    assert suites.select(None, None, None) == dict.fromkeys(IDS, 256)
    assert suites.select("quick", None, 4) == {
        "ragen/Bandit-v0": 4,
        "ragen/Sokoban-v0": 4,
        "ragen/FrozenLake-v0": 4,
    }
    assert suites.select(None, ["Sokoban-v0", "ragen/Bandit-v0"], 9) == {
        "ragen/Sokoban-v0": 9,
        "ragen/Bandit-v0": 9,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope", None, None), "choose one of: quick, core"),
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


def test_specification_hashes_differ_between_environments_splits_and_formats():
    hashes = [suites.spec_hash(env, "test", "think") for env in IDS]
    hashes += [suites.spec_hash("ragen/Sokoban-v0", split, "think") for split in ("train", "val")]
    hashes += [suites.spec_hash("ragen/Sokoban-v0", "test", "plain")]
    assert len(set(hashes)) == len(IDS) + 3


def test_the_specification_hash_sees_parameters_texts_and_levels(monkeypatch):
    def now():
        return suites.spec_hash("ragen/Sokoban-v0", "test", "think")

    before = now()
    variant = sokoban.VARIANTS["Sokoban-v0"]
    budget = dataclasses.replace(variant.budget, max_turns=6)
    monkeypatch.setitem(sokoban.VARIANTS, "Sokoban-v0", dataclasses.replace(variant, budget=budget))
    assert now() != before
    monkeypatch.undo()
    assert now() == before
    levels = sokoban.SokobanEnv.shipped("Sokoban-v0", "test")
    swapped = (*levels[:-2], levels[-1], levels[-2])
    monkeypatch.setattr(sokoban.SokobanEnv, "shipped", classmethod(lambda *_: swapped))
    assert now() != before
