"""Exactly these checks fail, and for these reasons; these are skipped; all others pass."""

import pytest

from ragen_envs.testing import CHECKS, CheckFailed, run_checks
from tests.ragen_envs.peers.expected import BRIDGE_SKIPPED, FAILS, SKIPPED
from tests.ragen_envs.peers.subjects import BRIDGED, PEERS


def by_status(outcomes):
    found = {"passed": {}, "failed": {}, "skipped": {}}
    for outcome in outcomes:
        found[outcome.status][outcome.name] = outcome.message
    return found


def test_every_peer_has_its_results():
    assert list(PEERS) == list(FAILS) == list(SKIPPED)


@pytest.mark.parametrize("peer", PEERS)
def test_the_kit_finds_in_a_peer_what_is_pinned(peer):
    found = by_status(run_checks(PEERS[peer]()))
    assert {n: FAILS[peer].get(n) for n in found["failed"]} == FAILS[peer], found["failed"]
    assert set(found["skipped"]) == SKIPPED[peer], found["skipped"]
    for name, part in FAILS[peer].items():
        assert part in found["failed"][name], found["failed"][name]


@pytest.mark.parametrize("game", BRIDGED)
def test_the_bridge_comes_out_clean(game):
    subject = BRIDGED[game]()
    found = by_status(run_checks(subject))
    assert found["failed"] == {}
    assert set(found["skipped"]) == BRIDGE_SKIPPED | set(subject.skip)


@pytest.mark.parametrize("game", BRIDGED)
def test_what_fails_in_textarena_alone_passes_through_the_bridge(game):
    fails = set(FAILS[game.removesuffix(", bridged")])
    assert fails - BRIDGE_SKIPPED == fails - {"splits_disjoint"}
    assert fails <= set(CHECKS)


@pytest.mark.parametrize("peer", ["TextArena Sokoban-v0", "gem game:Sokoban-v0-easy"])
def test_a_skipped_check_would_fail_by_itself(peer):
    with pytest.raises(CheckFailed, match="alone, then beside 3 threads"):
        CHECKS["two_in_threads"].function(PEERS[peer]())
