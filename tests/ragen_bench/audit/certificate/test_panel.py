"""Scripted players score what they should, and who exploits an environment is named."""

import pytest

from ragen_bench.audit.certificate import Evidence, certify
from ragen_bench.audit.certificate.panel import play_panel
from ragen_bench.audit.certificate.scripted_players import PLAYERS
from ragen_bench.audit.subjects import suite_subject
from ragen_bench.errors import UserError
from ragen_envs.registration import find_blind_script, load_class

from . import coins

_ADVERSARIAL = "statistical.adversarial_floor"
_CANARY = "semantic.canary_floor"
_LEAKAGE = "semantic.no_solution_leakage"
_GAP = "semantic.floor_gap"
_PLAYED = (_GAP, _CANARY, _LEAKAGE, _ADVERSARIAL, "statistical.gameability_gap")


def panel_of(subject, episodes=200):
    return play_panel(subject, episodes, lambda seeds: None)


def failed(maker, questions=_PLAYED, episodes=300):
    return set(certify(Evidence("coin", coins.subject(maker), episodes), questions).failed)


def test_players_of_an_honest_environment():
    panel = panel_of(coins.subject(coins.Coin), 1000)
    scores = {row.player: row.score for row in panel.rows}
    idle = [name for name, player in PLAYERS.items() if not player.plays]
    assert {scores[name] for name in idle} == {0.0}
    assert 0.45 < panel.floor.score < 0.55
    assert scores["constant"] == scores["first"]  # "heads", which is listed first
    assert 0.45 < scores["first"] < 0.55
    assert not any(row.is_above_floor for row in panel.rows)
    assert (panel.ceiling, panel.rewards) == (1.0, (0.0, 1.0))


@pytest.mark.parametrize(
    ("maker", "questions"),
    [
        (coins.Coin, set()),
        (coins.Vacuous, {_GAP, _ADVERSARIAL, "statistical.gameability_gap"}),
        (coins.Mirror, {_LEAKAGE, _ADVERSARIAL, "statistical.gameability_gap"}),
        (coins.Leaking, {_LEAKAGE, _ADVERSARIAL, "statistical.gameability_gap"}),
        (coins.Lenient, {_CANARY, _ADVERSARIAL, "statistical.gameability_gap"}),
        (coins.Fragile, {_CANARY, _LEAKAGE, _ADVERSARIAL}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_who_exploits_an_environment_is_named(maker, questions):
    assert failed(maker) == questions


def test_an_injection_that_is_believed_is_named():
    """Some injections pay here, half as many as random answers: the player is named above 0.5."""
    panel = panel_of(coins.subject(coins.Gullible), 300)
    assert 0.3 < panel.row("inject").score < 0.6
    assert panel.row("echo").score == 0.0


def test_what_is_touched_is_named():
    questions = ("runtime.network_policy", "runtime.host_containment")
    assert failed(coins.Coin, questions) == set()
    assert failed(coins.Loud, questions) == set(questions)


def test_scores_beyond_their_range_are_one_line():
    with pytest.raises(UserError, match="score is 5, outside 0 to 1; give a"):
        panel_of(coins.subject(coins.Wide), 2)


@pytest.mark.parametrize("name", ["Bandit-v0", "Sokoban-v0"])
def test_nobody_scores_in_the_suite_without_playing(name):
    panel = panel_of(suite_subject(f"ragen/{name}"), 60)
    assert [row.score for row in panel.idle] == [0.0] * 5
    assert panel.ceiling == 1.0
    assert panel.rows == panel_of(suite_subject(f"ragen/{name}"), 60).rows


def test_the_blind_script_is_played_by_its_turns_and_is_not_tested():
    panel = panel_of(suite_subject("ragen/Sokoban-v0"), 100)
    env = load_class("ragen/Sokoban-v0")("Sokoban-v0", response_format="plain")
    wins = 0
    for seed in range(100):
        env.reset(seed=seed)
        for turn in find_blind_script("ragen/Sokoban-v0"):
            if env.is_running:
                env.step(" || ".join(turn))
        wins += env.success
    assert panel.blind.score == wins / 100 > 0
    assert [row.player for row in panel.rows] == list(PLAYERS)
    assert panel_of(coins.subject(coins.Coin), 2).blind is None


def test_greedy_stays_with_what_pays():
    panel = panel_of(suite_subject("ragen/BanditMultiPull-v0"), 200)
    assert panel.row("greedy").is_above_floor
    assert panel.row("greedy").score > panel.row("first").score + 0.1
