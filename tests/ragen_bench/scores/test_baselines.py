"""Shipped and kept baselines are those that a player would reach now."""

import pytest

from ragen_bench import cache
from ragen_bench.scores import baselines, outcomes
from ragen_bench.scores.baselines import compute_baseline, compute_floor_and_ceiling, play_outcomes
from ragen_bench.scores.outcomes import PLAYERS, find_shipped, order_by_end, pack_file, unpack_file
from ragen_bench.scores.summary import find_close_to_blind
from ragen_bench.suites import held_out_size, register_environment
from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.registration import IDS
from tests.cases import first_fast

LAKE = "ragen/FrozenLake-v0"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.delenv(cache.RECOMPUTE)
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    baselines._baseline.cache_clear()


@pytest.fixture
def unplayable(monkeypatch):
    """Make every attempt to play a baseline fail."""
    monkeypatch.setattr(baselines, "play", lambda *_, **__: pytest.fail("a baseline was played"))
    baselines._baseline.cache_clear()


@pytest.mark.parametrize("split", SHIPPED_SPLITS)
@pytest.mark.parametrize("env", IDS)
def test_shipped_episodes_are_those_of_the_present_game(env, split):
    for player in PLAYERS:
        shipped = find_shipped(player, env, split)
        assert len(shipped) == outcomes.SAMPLES[player] * held_out_size(env)
        # Few instances are fewer than there are slots, so the order of all ends is seen below.
        assert order_by_end(shipped, [2, 0]) == play_outcomes(player, env, split, [2, 0])


@pytest.mark.parametrize("env", first_fast([LAKE, "ragen/Sokoban-v0", "ragen/Mastermind-v0"]))
def test_shipped_episodes_end_in_the_order_in_which_they_are_played(env):
    indices = range(1, 24)
    found = order_by_end(find_shipped("random", env, "test"), indices)
    assert found == play_outcomes("random", env, "test", indices)
    assert [each.index for each in found] != sorted(each.index for each in found)


def test_shipped_baselines_are_not_played(unplayable):
    assert compute_baseline("random", LAKE, "test", range(256))["success"] == 0.145508
    floor, ceiling = compute_floor_and_ceiling(LAKE, "test", [5, 9])
    assert 0 <= floor < ceiling < 1


def test_another_game_under_the_same_id_is_played(monkeypatch):
    baselines._baseline.cache_clear()
    monkeypatch.setattr(outcomes, "spec_hash", lambda *_: "of another version")
    played = []
    play = baselines.play
    monkeypatch.setattr(baselines, "play", lambda *a, **k: played.append(a) or play(*a, **k))
    assert compute_baseline("random", LAKE, "test", range(2))["episodes"] == 32
    assert len(played) == 1


def test_a_damaged_shipped_file_is_replaced_by_play_with_a_line(monkeypatch, tmp_path, capsys):
    env = "ragen/Bandit-v0"
    splits = {"test": {player: find_shipped(player, env, "test") for player in PLAYERS}}
    _, content = pack_file(env, splits)
    assert unpack_file(content)["test"] == outcomes._read(env)["test"]
    expected = compute_baseline("random", env, "test", range(3))
    monkeypatch.setattr(outcomes, "FOLDER", tmp_path)
    outcomes._read.cache_clear()
    baselines._baseline.cache_clear()
    (tmp_path / "Bandit-v0.json.xz").write_bytes(content[:-1] + b"?")
    try:
        assert compute_baseline("random", env, "test", range(3)) == expected
        assert "Bandit-v0.json.xz is missing or damaged" in capsys.readouterr().err
    finally:
        outcomes._read.cache_clear()


def test_other_baselines_are_kept_between_commands(kept, monkeypatch):
    first = compute_baseline("random", LAKE, "train", range(3))
    both = compute_floor_and_ceiling(LAKE, "train", range(3))
    monkeypatch.setattr(baselines, "play", lambda *_, **__: pytest.fail("a baseline was played"))
    baselines._baseline.cache_clear()
    assert compute_baseline("random", LAKE, "train", range(3)) == first
    assert compute_floor_and_ceiling(LAKE, "train", range(3)) == both


def test_baselines_of_another_package_are_played_each_time(kept, monkeypatch, tmp_path):
    """A kept one would not notice a change of the files that its environment reads."""
    guess = "tests.ragen_bench.third_party.external_games:external/Guess-v0"
    register_environment(guess)
    played = []
    play = baselines.play
    monkeypatch.setattr(baselines, "play", lambda *a, **k: played.append(a) or play(*a, **k))
    for _ in range(2):
        baselines._baseline.cache_clear()
        compute_baseline("random", guess, "test", range(3))
    assert len(played) == 2
    assert not list(tmp_path.glob("results/baseline-*"))


def test_a_success_that_is_not_above_the_blind_scripts_is_named():
    def row(env, low, blind):
        baseline = {} if blind is None else {"blind": {"success": blind}}
        known = {"env": env, "success": low + 0.1, "success_interval": [low, 0.9]}
        return {**known, "random": {"success": 0.1}, **baseline}

    rows = [row("above", 0.3, 0.2), row("equal", 0.3, 0.3), row("below", 0.1, 0.5)]
    rows += [row("none", 0.0, None), {**row("returns", 0.0, 0.0), "success": None}]
    rows.append({**row("random", 0.3, 0.0), "random": {"success": 0.5}})
    assert find_close_to_blind({"envs": rows}) == ["equal", "below", "random"]


def test_a_blind_row_has_four_episodes_of_its_script_on_each_instance(unplayable):
    blind = compute_baseline("blind", "ragen/Sokoban-v0", "test", range(10))
    assert blind["episodes"] == 40
    assert 0 <= blind["success"] < 0.5
    assert compute_baseline("blind", "ragen/TwentyQuestionsModel-v0", "test", range(2)) is None
