"""The labels that all games share; those of a game are tested in its folder."""

from importlib import import_module

import pytest

from ragen_bench.analysis.failures import COMMON, find_labeler, find_labels
from ragen_bench.models import Completion, RequestFailure
from ragen_envs.core.failures import FailureLabeler
from ragen_envs.registration import GAMES, IDS
from tests.ragen_bench.analysis.support import check, played

NO_FORM, CUT = Completion("go up"), Completion("<think>go up and then", finish="length")
IN_FORM, UNKNOWN = (Completion(f"<think></think><answer>{a}</answer>") for a in ("Left", "Fly"))
NO_ROOM, FILTERED = Completion("", finish="context"), Completion("", finish="filtered")
FORMS = [
    ("Sokoban", [NO_FORM] * 5, ("broken_format", 1)),
    ("Sokoban", [CUT] * 5, ("cut_off", 1)),
    ("Sokoban", [NO_FORM, CUT, CUT, CUT, NO_FORM], ("cut_off", 2)),
    ("Sokoban", [CUT, NO_FORM, NO_FORM, CUT, NO_FORM], ("broken_format", 2)),
    ("Sokoban", [Completion(" ")] * 5, ("gave_nothing", 1)),
    ("Sokoban", [UNKNOWN, NO_FORM, IN_FORM, UNKNOWN, IN_FORM], ("illegal_action", 1)),
    ("Sokoban", [NO_ROOM], ("context_overflow", 1)),
    ("Sokoban", [NO_FORM, NO_FORM, NO_ROOM], ("context_overflow", 3)),
    ("Sokoban", [NO_FORM, RequestFailure("asleep")], ("given_up", 2)),
    ("FrozenLake", [NO_FORM] * 5, ("broken_format", 1)),
    ("Bandit", [CUT], ("cut_off", 1)),
    ("Bandit", [UNKNOWN], ("illegal_action", 1)),
    ("Bandit", [FILTERED], ("filtered", 1)),
    ("BanditMultiPull", [NO_FORM] * 20, ("broken_format", 1)),
    ("BanditMultiPull", [NO_ROOM], ("context_overflow", 1)),
]


@pytest.mark.parametrize(("name", "answers", "wanted"), FORMS)
def test_answers_that_come_to_nothing(name, answers, wanted):
    check(played(name, 1, answers, form="think"), wanted)


def test_every_game_has_a_labeler_and_every_label_one_sentence():
    for env in IDS:
        assert type(find_labeler(env)) is not FailureLabeler
        for sentence in find_labels(env).values():
            assert sentence.endswith(".")
            assert sentence.count(".") == 1


def test_every_label_is_met():
    """A row of a game's EPISODES ends with the label and its turn, or with None for a success."""
    rows = [*FORMS]
    for game in GAMES:
        folder = game.entry_point.split(".")[2]
        episodes = import_module(f"tests.ragen_envs.games.{folder}.test_failures").EPISODES
        assert {row[-1][0] for row in episodes if row[-1]} >= {*game.labels}, folder
        rows += episodes
    assert {row[-1][0] for row in rows if row[-1]} == {*COMMON}.union(*(g.labels for g in GAMES))
