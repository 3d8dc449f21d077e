"""The kit finds again what the survey wrote, in the cheapest environments of each library."""

import pytest

from ragen_envs.testing import CHECKS, CheckFailed, Subject, run_checks
from tests.ragen_envs.peers.libraries import (
    gem,
    gymnasium,
    openenv,
    reasoning_gym,
    scienceworld,
    textarena,
    textworld,
)
from tests.ragen_envs.peers.survey import surveyed
from tests.ragen_envs.peers.tables import records

pytestmark = pytest.mark.slow

AGAIN = {
    "gymnasium": (gymnasium, "Blackjack-v1"),
    "textarena": (textarena, "ThreeCardMonte-v0"),
    "gem": (gem, "game:GuessTheNumber-v0-easy"),
    "reasoning_gym": (reasoning_gym, "arc_1d"),
}
WITHOUT_A_RERUN = {"openenv": openenv, "textworld": textworld, "scienceworld": scienceworld}
RECORDED = {library: module for library, (module, _) in AGAIN.items()} | WITHOUT_A_RERUN


@pytest.mark.parametrize("library", AGAIN)
def test_the_kit_finds_again_what_is_recorded(library):
    module, name = AGAIN[library]
    recorded = records()[library]["environments"][name]
    assert surveyed(module.SUBJECTS[name]) == recorded


@pytest.mark.parametrize("library", RECORDED)
def test_every_environment_of_a_library_has_its_record(library):
    record, module = records()[library], RECORDED[library]
    listed = {*module.SUBJECTS, *getattr(module, "UNMADE", {})}
    assert listed == {*record["environments"], *record["cannot_be_made"]}


def test_what_fails_in_textarena_alone_passes_through_the_bridge():
    """Five values to see, and each answer may follow one that is not read."""
    subject = Subject(
        make_env="ragen_envs.integrations.textarena:ragen_textarena/Secretary-v0",
        answers=("[accept]", "[continue]"),
        max_turns=12,
        seeds=(0, 1),
    )
    outcomes = {outcome.name: outcome.status for outcome in run_checks(subject)}
    alone = records()["textarena"]["environments"]["Secretary-v0"]["failed"]
    assert len(alone) == 6
    assert {outcomes[name] for name in alone} == {"passed"}
    assert "failed" not in outcomes.values()


def test_a_skipped_check_would_fail_by_itself():
    with pytest.raises(CheckFailed, match="alone, then beside 3 threads"):
        CHECKS["two_in_threads"].function(gem.SUBJECTS["game:Sokoban-v0-easy"](), seeds=(0, 2))
