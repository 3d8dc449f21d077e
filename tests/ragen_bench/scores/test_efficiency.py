"""Actions and turns over the optimal ones, replayed from the responses of solved episodes."""

from dataclasses import replace

import pytest

from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.cost import Price, Prices
from ragen_bench.scores.efficiency import EfficiencyMeter, SolvedEpisode, compute_efficiency
from ragen_bench.scores.summary import compute_summary, summarise
from ragen_bench.statistics import resampled_interval
from ragen_envs.core.sealed import KEY_VARIABLE, new_key
from ragen_envs.games.sokoban.env import SokobanEnv
from tests.ragen_bench.scores.compared import BANDIT, SOKOBAN, played
from tests.ragen_bench.scores.test_summary import episode
from tests.ragen_bench.scores.turns import played_turn


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    return played(tmp_path_factory.mktemp("efficiency") / "run", model="oracle", samples=1)


def rows_of(run):
    return {row["env"]: row for row in summarise(run)["envs"]}


def test_the_oracle_of_sokoban_needs_the_optimal_numbers(oracle):
    rows = rows_of(oracle)
    found = rows[SOKOBAN]["efficiency"]
    assert (found["solved"], found["measured"]) == (8, 8)
    assert (found["actions_over_optimal"], found["turns_over_optimal"]) == (1.0, 1.0)
    low, high = found["actions_over_optimal_interval"]
    assert low == 1.0 < high  # eight alike do not show that all are
    assert set(rows[BANDIT]["efficiency"]) == {"solved"}  # no optimal length, no tokens


def test_actions_that_were_not_run_are_not_counted_and_detours_are(oracle):
    """The oracle's moves after two that cancel each other, with a tail that is never run."""
    solved = [each for each in oracle.episodes() if each.env == SOKOBAN]
    meter = EfficiencyMeter(oracle.config)
    for record in solved:
        env = SokobanEnv("Sokoban-v0", split="test", response_format="think")
        env.reset(seed=record.index)
        taken = [turn.actions for turn in record.turns]
        assert sum(map(len, taken)) == record.optimal_length
        last = record.turns[-1]
        tail = replace(last, answer=last.answer.replace("</answer>", " || Up || Up</answer>"))
        longer = replace(record, turns=[*record.turns[:-1], tail])
        if len(taken[-1]) + 2 <= env.budget.max_actions_per_turn:
            assert meter.measure(longer) == meter.measure(record)
        idle = replace(record.turns[0], answer="<think></think><answer>Nowhere</answer>")
        late = replace(record, turns=[idle, *record.turns])
        if len(late.turns) <= env.budget.max_turns:
            turns = -(-record.optimal_length // env.budget.max_actions_per_turn)
            assert meter.measure(late).turns == pytest.approx((len(taken) + 1) / turns)
            assert meter.measure(late).actions == 1.0


def test_the_interval_is_the_bootstrap_over_instances():
    values = [1.0, 1.5, 1.25, 3.0, 1.0, 2.0]
    measured = [SolvedEpisode(i // 2, value, 1.0, 5.0, 2.0) for i, value in enumerate(values)]
    episodes = [episode(i, i < 3, [played_turn(read=10, generated=2)]) for i in range(8)]
    found = compute_efficiency(episodes, measured)
    assert found["actions_over_optimal"] == round(sum(values) / 6, 6)
    clusters = [values[i : i + 2] for i in (0, 2, 4)]
    expected = resampled_interval(clusters, 1.0, 5.0)
    assert found["actions_over_optimal_interval"] == pytest.approx(expected, abs=1e-6)
    assert (found["solved"], found["tokens_per_solved"]) == (3, 32.0)
    assert compute_efficiency(episodes[3:], []) == {}


def test_the_cost_of_a_solved_episode(oracle):
    """All 28 episodes cost 2 each, and 4 to 28 of them are solved."""
    prices = Prices("USD", (Price(("oracle",), 1e6, 0.0),))
    episodes = [
        replace(one, turns=[replace(one.turns[0], prompt_tokens=2), *one.turns[1:]])
        for one in oracle.episodes()
    ]
    solved = sum(one.success for one in episodes)
    cost = compute_summary(oracle.config, episodes, {}, prices=prices)["cost"]
    assert cost == {"amount": 56.0, "currency": "USD", "per_solved": round(56 / solved, 6)}
    assert "per_solved" not in summarise(oracle, prices)["cost"]  # without tokens


def test_an_episode_that_does_not_replay_is_not_measured(oracle):
    record = next(one for one in oracle.episodes() if one.env == SOKOBAN)
    meter = EfficiencyMeter(oracle.config)
    assert meter.measure(record) is not None
    for other in (
        replace(record, turns=record.turns[:-1]),
        replace(record, turns=[replace(record.turns[0], answer="x")]),
        replace(record, index=99),
        replace(record, success=False),
        replace(record, optimal_length=None),
    ):
        assert meter.measure(other) is None


def test_two_runs_are_compared_on_the_instances_that_both_solved(oracle, oracle_run, random_run):
    rows = {
        row["env"]: row
        for row in compare_with_first([oracle, oracle_run])["comparisons"][0]["envs"]
    }
    found = rows[SOKOBAN]["actions_over_optimal"]
    assert (found["instances"], found["a"], found["difference"]) == (8, 1.0, 0.0)
    assert "actions_over_optimal" not in rows[BANDIT]
    weak = compare_with_first([oracle, random_run])["comparisons"][0]["envs"]
    assert all(row.get("actions_over_optimal", {"instances": 2})["instances"] >= 2 for row in weak)


def test_sealed_runs_are_compared_without_their_key(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    runs = [
        played(tmp_path / name, model="oracle", split="sealed", instances={SOKOBAN: 3}, seed=seed)
        for seed, name in enumerate("ab")
    ]
    assert compare_with_first(runs)["comparisons"][0]["envs"][0]["actions_over_optimal"]["a"] == 1.0
    monkeypatch.delenv(KEY_VARIABLE)
    assert "actions_over_optimal" not in compare_with_first(runs)["comparisons"][0]["envs"][0]
