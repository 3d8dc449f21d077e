"""The specification hash sees what makes scores incomparable."""

import dataclasses

import pytest

from ragen_bench.runs.specification import spec_hash
from ragen_envs.core.instances import RandomStream
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_envs.games.sokoban import env as sokoban
from ragen_envs.games.twenty_questions import env as twenty_questions
from ragen_envs.games.twenty_questions.probes import PROBES
from ragen_envs.registration import IDS

pytestmark = pytest.mark.slow


def test_specification_hashes_differ_between_environments_splits_and_formats():
    hashes = [spec_hash(env, "test", "think") for env in IDS]
    hashes += [spec_hash("ragen/Sokoban-v0", split, "think") for split in ("train", "val")]
    hashes += [spec_hash("ragen/Sokoban-v0", "test", "plain")]
    assert len(set(hashes)) == len(IDS) + 3


def test_the_specification_hash_sees_parameters_texts_and_levels(monkeypatch):
    def now():
        return spec_hash("ragen/Sokoban-v0", "test", "think")

    before = now()
    variant = sokoban.VARIANTS["Sokoban-v0"]
    budget = dataclasses.replace(variant.budget, max_turns=6)
    monkeypatch.setitem(sokoban.VARIANTS, "Sokoban-v0", dataclasses.replace(variant, budget=budget))
    assert now() != before
    monkeypatch.undo()
    assert now() == before
    levels = sokoban.SokobanEnv.load_shipped("Sokoban-v0", "test")
    swapped = (*levels[:-2], levels[-1], levels[-2])
    monkeypatch.setattr(sokoban.SokobanEnv, "load_shipped", classmethod(lambda *_: swapped))
    assert now() != before


@pytest.mark.parametrize("name", ["MOVE_POINTS", "BOX_POINTS", "SOLVED_POINTS"])
def test_the_specification_hash_sees_rewards(monkeypatch, name):
    before = spec_hash("ragen/Sokoban-v0", "test", "think")
    monkeypatch.setattr(sokoban, name, getattr(sokoban, name) + 1)
    assert spec_hash("ragen/Sokoban-v0", "test", "think") != before


def test_the_specification_hash_sees_the_noise(monkeypatch):
    before = spec_hash("ragen/FrozenLake-v0", "test", "think")
    monkeypatch.setattr(FrozenLakeEnv, "make_noise_stream", lambda *_: RandomStream("other noise"))
    assert spec_hash("ragen/FrozenLake-v0", "test", "think") != before


def test_the_specification_hash_sees_how_questions_are_read(monkeypatch):
    def now():
        return spec_hash("ragen/TwentyQuestions-v0", "test", "think")

    before, read = now(), twenty_questions.understand
    for probe in (PROBES[0], PROBES[-1]):
        monkeypatch.setattr(
            twenty_questions,
            "understand",
            lambda text, known, probe=probe: read("Is it red?" if text == probe else text, known),
        )
        assert now() != before
    monkeypatch.undo()
    assert now() == before
