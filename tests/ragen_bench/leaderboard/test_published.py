"""The entries of this repository's own leaderboard, each replayed."""

from pathlib import Path

import pytest

from ragen_bench.leaderboard import verify

# What the random player scores is played once a process, for the games' pages too.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("baselines")]
ENTRIES = Path(__file__).parents[3] / "leaderboard/entries"
NAMES = sorted(entry.name for entry in ENTRIES.iterdir())


def test_there_are_a_floor_a_ceiling_a_language_model_and_a_classical_agent():
    for suite in ("core", "core-2", "quick"):
        assert {f"oracle_{suite}_test", f"random_{suite}_test"} <= set(NAMES)
    assert {"smollm2-135m-instruct_quick_test", "demo-agent_core_test"} <= set(NAMES)
    assert {"ppo_quick_drawn", "ppo_core_drawn"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("kept_results")
def test_every_answer_replays(name):
    verdict = verify(ENTRIES / name)
    assert verdict.problems == []
    assert verdict.verified
    instances = {"quick": 64, "core": 1536, "core-2": 2364}[verdict.entry.run.suite]
    assert verdict.episodes == instances
