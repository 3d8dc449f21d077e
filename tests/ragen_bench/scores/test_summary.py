"""Figures of hand-made episodes, and the floor and the ceiling."""

from dataclasses import replace
from hashlib import sha256

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores import baselines
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.scores.cost import Price, Prices
from ragen_bench.scores.metrics import compute_metrics
from ragen_bench.scores.summary import compute_summary, summarise
from ragen_bench.statistics import mean_over_instances, wilson
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, KEY_VARIABLE, new_key, open_key
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from tests.ragen_bench.scores.turns import played_turn


def episode(index, success, turns, outcome="failure", sample=0):
    return EpisodeRecord(
        env="ragen/Sokoban-v0",
        split="test",
        index=index,
        sample=sample,
        success=success,
        score=float(success),
        ceiling=1.0,
        optimal_length=index % 3 + 1,
        episode_return=1.0 if success else -0.5,
        outcome=outcome,
        turns=turns,
        final_observation="",
    )


def test_figures_by_hand():
    found = compute_metrics(
        [
            episode(0, True, [played_turn(True, True, 10, 3)], "success"),
            episode(1, False, [played_turn(True, False, 10, 4), played_turn(False, False, 20, 5)]),
            episode(2, False, [played_turn(False, False, 10, 6)], "invalid_format"),
        ]
    )
    assert found["episodes"] == 3
    assert found["success"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["success_interval"] == pytest.approx(wilson(1, 3), abs=1e-6)
    assert found["return"] == 0.0
    assert found["outcomes"] == {"failure": 1, "invalid_format": 1, "success": 1}
    assert (found["turns"], found["format_valid"], found["action_valid"]) == (4, 0.5, 0.25)
    assert (found["answer_is_example"], found["cut"]) == (0.75, 0.5)
    assert (found["prompt_tokens"], found["completion_tokens"]) == (50, 18)


def test_several_samples_of_an_instance_count_as_one_cluster():
    turns = [played_turn(True, True, 1, 1)]
    found = compute_metrics(
        [episode(i, i < 5, turns, sample=s) for i in range(10) for s in range(4)]
    )
    low, high = found["success_interval"]
    # Ten instances, not forty episodes: the standard error is 0.5 / sqrt(10).
    assert (high - low) / 2 == pytest.approx(1.96 * 0.158, rel=0.15)


@pytest.mark.parametrize(("success", "expected"), [(True, wilson(10, 10)), (False, wilson(0, 10))])
def test_clusters_that_all_ended_alike_leave_room_for_doubt(success, expected):
    turns = [played_turn(True, True, 1, 1)]
    found = compute_metrics(
        [episode(i, success, turns, sample=s) for i in range(10) for s in range(4)]
    )
    assert found["success_interval"] == pytest.approx(expected, abs=1e-6)


def test_floor_and_ceiling():
    assert compute_baseline("oracle", "ragen/Sokoban-v0", "test", range(8))["success"] == 1.0
    floor = compute_baseline("random", "ragen/Bandit-v0", "test", range(64))
    assert floor["success"] == pytest.approx(0.5, abs=0.05)
    assert compute_baseline("random", "ragen/Bandit-v0", "val", range(8)) == compute_baseline(
        "random", "ragen/Bandit-v0", "val", range(8)
    )


def test_floor_and_ceiling_are_played_once_and_for_each_sealed_key(monkeypatch):
    asked = "random", "ragen/FrozenLake-v0", "sealed", range(8)
    keys = [sha256(name).hexdigest() for name in (b"one", b"another")]
    played, found = [], []
    play = baselines.play
    monkeypatch.setattr(
        baselines, "play", lambda *run, **on: played.append(run) or play(*run, **on)
    )
    for key in (*keys, *keys):
        monkeypatch.setenv("RAGEN_SEALED_KEY", key)
        found.append(compute_baseline(*asked))
        found[-1]["score"] = "changed by who asked"
    monkeypatch.setenv("RAGEN_SEALED_KEY", keys[0])
    again = compute_baseline(*asked)
    assert len(played) == len(keys)
    assert isinstance(again["score"], float)
    assert found[0]["ceiling"] == found[2]["ceiling"] == again["ceiling"]
    assert found[1]["ceiling"] == found[3]["ceiling"] != found[0]["ceiling"]


def test_the_random_player_scores_near_0_and_the_oracle_1(small, random_model, tmp_path):
    summary = summarise(play_run(small, random_model, tmp_path / "run"))
    assert summary["episodes"] == summary["planned"] == 160
    assert abs(summary["suite_score"]) < 0.2
    assert summary["suite_score"] == pytest.approx(
        sum(row["normalised"] for row in summary["envs"]) / 3, abs=1e-6
    )
    low, high = summary["suite_score_interval"]
    assert low < summary["suite_score"] < high
    # Three environments together are known better than each of them.
    assert high - low < sum(width(row["normalised_interval"]) for row in summary["envs"]) / 3
    assert summary["cost"] is None


def test_without_one_of_its_environments_a_suite_has_no_score(small, random_model, tmp_path):
    run = play_run(small, random_model, tmp_path / "run")
    episodes = list(run.episodes())
    last = run.config.envs[-1].id
    assert compute_summary(run.config, episodes, {})["suite_score"] is not None
    part = compute_summary(run.config, [each for each in episodes if each.env != last], {})
    assert len(part["envs"]) == 2
    assert part["suite_score"] is part["suite_score_interval"] is None


def test_seconds_and_faults_are_those_of_the_run(small, random_model, tmp_path):
    run = play_run(small, random_model, tmp_path / "run")
    episodes = list(run.episodes())
    first, second, third = (env.id for env in run.config.envs)
    cut = episodes.pop()
    faults = {episodes[0].key: "HTTP 502", cut.key: "HTTP 503"}
    summary = compute_summary(run.config, episodes, {first: 1.2345, second: 20.0}, faults)
    assert {row["env"]: row["seconds"] for row in summary["envs"]} == {
        first: 1.23,
        second: 20.0,
        third: 0.0,
    }
    # The other episode was played in the end.
    assert summary["infra_faults"] == 1
    assert summary["given_up"] == summary["envs"][-1]["given_up"] == {"HTTP 503": 1}
    assert (summary["episodes"], summary["planned"]) == (159, 160)
    assert (summary["model"], summary["suite"], summary["split"]) == ("random", "", "test")
    assert "opponent" not in summary


def test_a_sealed_run_is_not_set_beside_players_of_another_key(
    small, random_model, tmp_path, monkeypatch
):
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    sealed = replace(small, instances={"ragen/Bandit-v0": 2}, split="sealed")
    run = play_run(sealed, random_model, tmp_path / "run")
    own = open_key()
    assert summarise(run)["split"] == "sealed"
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    with pytest.raises(UserError) as raised:
        summarise(run)
    assert str(raised.value) == (
        f"the run used the sealed key with the hash {own}, the current one has {open_key()}; "
        f"name the run's key in {KEY_FILE_VARIABLE}"
    )


def width(interval):
    return interval[1] - interval[0]


def test_several_samples_give_pass_at_k():
    turns = [played_turn(True, True, 1, 1)]
    solved = {0: 4, 1: 0, 2: 1, 3: 2}
    found = compute_metrics(
        [episode(i, s < count, turns, sample=s) for i, count in solved.items() for s in range(4)]
    )
    chance = [1, 0, 0.25, 0.5]
    pairs = [1, 0, 1 - 3 / 6, 1 - 1 / 6]
    assert found["pass_at_k"] == pytest.approx(
        {"1": sum(chance) / 4, "2": sum(pairs) / 4, "4": 3 / 4}, abs=1e-6
    )
    assert found["pass_hat_k"] == pytest.approx(
        {"1": sum(chance) / 4, "2": (1 + 1 / 6) / 4, "4": 1 / 4}, abs=1e-6
    )
    assert found["pass_at_k"]["1"] == found["success"]
    assert found["mean_at_k"] == {"4": found["success"]}


def test_an_instance_with_fewer_samples_bounds_k():
    turns = [played_turn(True, True, 1, 1)]
    episodes = [episode(0, True, turns, sample=s) for s in range(4)]
    assert list(compute_metrics([*episodes, episode(1, True, turns)])["pass_at_k"]) == ["1"]


def test_breakdowns():
    turns = [played_turn(True, True, 1, 1)]
    found = compute_metrics([episode(i, i < 3, turns * (1 + i % 2)) for i in range(6)])
    assert [(row["bucket"], row["episodes"]) for row in found["by_difficulty"]] == [
        ("1", 2),
        ("2", 2),
        ("3", 2),
    ]
    assert {row["by"] for row in found["by_difficulty"]} == {"optimal_length"}
    # Instances 0 and 2 are solved in one turn, 1 in two.
    assert found["by_turn"] == pytest.approx([2 / 6, 3 / 6], abs=1e-6)


def of_instances(ceilings, lengths):
    """Return an episode of each instance; the first ones are solved, one in three."""
    turns = [played_turn(True, True, 1, 1)]
    return [
        replace(episode(index, index % 3 == 0, turns), ceiling=ceiling, optimal_length=length)
        for index, (ceiling, length) in enumerate(zip(ceilings, lengths, strict=True))
    ]


@pytest.mark.parametrize("lengths", [[None] * 4, [1, 2, 3, 4]])
def test_ceilings_that_differ_tell_difficulties_apart(lengths):
    found = compute_metrics(of_instances([0.3, 0.9, 0.9, 0.9], lengths))["by_difficulty"]
    one, third = (
        [round(bound, 6) for bound in wilson(solved, of)] for solved, of in ((1, 1), (1, 3))
    )
    assert found == [
        {
            **{"by": "ceiling", "bucket": "0.2-0.4", "instances": 1, "episodes": 1},
            **{"success": 1.0, "interval": one},
        },
        {
            **{"by": "ceiling", "bucket": "0.8-1.0", "instances": 3, "episodes": 3},
            **{"success": 0.333333, "interval": third},
        },
    ]


def test_equal_ceilings_and_unknown_lengths_are_no_breakdown():
    for lengths in ([None] * 3, [1, None, 2]):
        assert compute_metrics(of_instances([0.5] * 3, lengths))["by_difficulty"] == []


def test_intervals_of_repeats_are_those_over_instances():
    turns = [played_turn(True, True, 1, 1)]
    solved = {0: 2, 1: 0, 2: 1}
    found = compute_metrics(
        [episode(i, s < count, turns, sample=s) for i, count in solved.items() for s in range(2)]
    )
    for name, shares in (
        ("pass_at_k", {"1": [1.0, 0.0, 0.5], "2": [1.0, 0.0, 1.0]}),
        ("pass_hat_k", {"1": [1.0, 0.0, 0.5], "2": [1.0, 0.0, 0.0]}),
    ):
        estimates = {k: mean_over_instances(of_each) for k, of_each in shares.items()}
        assert found[name] == {k: round(one.value, 6) for k, one in estimates.items()}
        assert found[f"{name}_interval"] == {
            k: [round(bound, 6) for bound in one.interval] for k, one in estimates.items()
        }


def test_a_third_of_the_answers_was_cut():
    turns = [played_turn(), played_turn(form=False), played_turn()]
    assert compute_metrics([episode(0, True, turns)])["cut"] == 0.333333


def test_episodes_without_a_turn():
    found = compute_metrics([episode(0, False, [], "context_overflow")])
    assert (found["success"], found["format_valid"], found["cut"]) == (0, None, None)


def test_cost(small, random_model, tmp_path):
    run = play_run(small, random_model, tmp_path / "run")
    free = Prices("EUR", (Price(("random",), 2.0, 3.0),))
    assert summarise(run, free)["cost"] == {"amount": 0.0, "currency": "EUR"}
    assert summarise(run, Prices("EUR", ()))["cost"] is None


def test_the_ceiling_is_the_exact_one(small, random_model, tmp_path):
    summary = summarise(play_run(small, random_model, tmp_path / "run"))
    lake = summary["envs"][2]
    exact = [FrozenLakeEnv.load_shipped("FrozenLake-v0", "test")[i].ceiling for i in range(10)]
    assert lake["oracle"]["ceiling"] == pytest.approx(sum(exact) / 10, abs=1e-6)
    floor = lake["random"]["score"]
    assert lake["normalised"] == pytest.approx(
        (lake["score"] - floor) / (sum(exact) / 10 - floor), abs=1e-5
    )


def test_an_oracle_that_is_a_reference_player_says_so(small, random_model, tmp_path):
    games = {"ragen/Minesweeper-v0": 1, "ragen/MinesweeperLarge-v0": 1}
    summary = summarise(play_run(replace(small, instances=games), random_model, tmp_path / "run"))
    assert [row.get("reference") for row in summary["envs"]] == [
        None,
        "it opens the least risky square, and whoever also weighs what a square would show can do "
        "better; the best play on boards of this size is beyond exact search here",
    ]
