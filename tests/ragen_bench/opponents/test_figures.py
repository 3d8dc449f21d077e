"""Two models in one game: agreement, floor and ceiling, cost, the report."""

import pytest

from ragen_bench.models import resolve
from ragen_bench.opponents.opponent import ModelPair, Opponent
from ragen_bench.pages.report import write_report
from ragen_bench.scores.baselines import compute_baseline, compute_floor_and_ceiling
from ragen_bench.scores.cost import Price, Prices
from ragen_bench.scores.summary import summarise
from ragen_bench.statistics import mean_interval

from .support import GAME, RULE, Said, asks, finish

pytestmark = pytest.mark.slow


def test_the_summary_recomputed_from_the_episodes(run, episodes):
    [row] = summarise(run)["envs"]
    found = row["opponent"]
    replies = [
        (episode["index"], turn["opponent"])
        for episode in episodes
        for turn in episode["turns"]
        if "opponent" in turn
    ]
    judged = [(index, reply["read"] == reply["rule"]) for index, reply in replies if reply["rule"]]
    assert found["replies"] == len(replies) > 50
    assert found["judged"] == len(judged) > 50
    assert found["agreed"] == sum(right for _, right in judged)
    assert found["agreement"] == round(sum(right for _, right in judged) / len(judged), 6)
    assert 0.3 < found["agreement"] < 0.9
    wrong = [r for _, r in replies if r["rule"] and r["read"] and r["read"] != r["rule"]]
    assert found["wrong"] == len(wrong) > 5
    assert found["unreadable"] == sum(not reply["readable"] for _, reply in replies) > 5
    clusters = {}
    for index, right in judged:
        clusters.setdefault(index, []).append(float(right))
    assert len(clusters) == 8
    low, high = mean_interval(list(clusters.values()))
    assert found["agreement_interval"] == [round(low, 6), round(high, 6)]
    assert found["prompt_tokens"] == 7 * len(replies)
    assert found["completion_tokens"] == 3 * len(replies)


def test_nothing_judged_is_no_agreement(tmp_path):
    pair = ModelPair(asks("Florble it?"), resolve("oracle"), "plain")
    found = finish(tmp_path / "run", pair, samples=1)
    [row] = summarise(found)["envs"]
    assert row["opponent"]["agreement"] is row["opponent"]["agreement_interval"] is None
    assert (row["opponent"]["replies"], row["opponent"]["judged"]) == (8, 0)
    page = write_report(found, summarise(found)).read_text(encoding="utf-8")
    assert "8, of which 0 to questions that the rule understands, 0 not readable." in page


def test_floor_and_ceiling_are_those_of_the_rule_answering():
    oracle = compute_baseline("oracle", GAME, "test", range(4))
    assert oracle == compute_baseline("oracle", RULE, "test", range(4))
    assert (oracle["success"], oracle["ceiling"]) == (1.0, 1.0)
    floor = compute_baseline("random", GAME, "test", range(4))
    assert floor["success"] < 0.2
    assert compute_floor_and_ceiling(GAME, "test", [0, 1, 2, 3]) == pytest.approx(
        (floor["score"], 1.0)
    )


def test_the_cost_is_that_of_both_or_unknown(tmp_path):
    pair = ModelPair(asks("Is it an animal?"), Said(lambda request: "Yes", (100, 10)), "plain")
    found = finish(
        tmp_path / "run",
        pair,
        instances={GAME: 2},
        samples=1,
        model="openai/a",
        opponent=Opponent("openai/b", "plain"),
    )
    turns = sum(len(episode.turns) for episode in found.episodes())
    both = Prices("EUR", (Price(("openai/a",), 1e6, 0.0), Price(("openai/b",), 2e6, 3e6)))
    amount = summarise(found, both)["cost"]["amount"]
    assert amount == turns * 7 + 2 * (100 * 2 + 10 * 3)
    for known in both.prices:
        assert summarise(found, Prices("EUR", (known,)))["cost"] is None


def test_the_report_names_the_opponent_and_its_agreement(run):
    summary = summarise(run)
    page = write_report(run, summary).read_text(encoding="utf-8")
    figures = summary["envs"][0]["opponent"]
    assert "<dt>Opponent</dt><dd><bdi>random</bdi>, response format plain</dd>" in page
    assert "against <bdi>random</bdi></h1>" in page
    assert "The random player and the oracle played against the rule." in page
    low, high = figures["agreement_interval"]
    assert (
        f"{figures['replies']}, of which {figures['judged']} to questions that the rule "
        f"understands ({100 * figures['agreement']:.1f} % [{100 * low:.1f} - {100 * high:.1f}] as "
        f"the rule answers, {figures['wrong']} another answer than the rule&#39;s), "
        f"{figures['unreadable']} not readable."
    ) in page


def test_the_oracle_asks_on_whatever_is_replied(tmp_path):
    """An opponent that lies leaves no word; the oracle goes on to its last turn."""
    liar = Said(lambda request: "No" if request.env.question.rule == "Yes" else "Yes")
    found = finish(tmp_path / "run", ModelPair(resolve("oracle"), liar, "plain"), samples=1)
    outcomes = {episode.outcome for episode in found.episodes()}
    assert outcomes == {"truncated"}
    [row] = summarise(found)["envs"]
    assert row["opponent"]["agreement"] == 0.0


def test_replies_at_random_are_a_function_of_seed_and_key(run, tmp_path):
    def replies(seed):
        pair = ModelPair(resolve("oracle"), resolve("random"), "plain")
        found = finish(tmp_path / f"run{seed}", pair, instances={GAME: 2}, seed=seed)
        return [
            turn.opponent.answer
            for episode in found.episodes()
            for turn in episode.turns
            if turn.opponent
        ]

    assert replies(0)[:10] != replies(1)[:10]
    assert set(replies(0)) == {"Yes", "No", "Sometimes", "I cannot tell, please rephrase"}
