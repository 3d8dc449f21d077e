"""The manifest of episodes that did not go as planned, and the scores with and without them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.models import resolve
from ragen_bench.runs.schema import Fault
from ragen_bench.scores.drops import compute_drops, count_drops, describe_drops, merge_drops
from ragen_bench.scores.summary import compute_summary
from ragen_bench.statistics import mean_estimate
from tests.ragen_bench.scores.compared import BASE, LAKE
from tests.ragen_bench.scores.test_summary import episode
from tests.ragen_bench.scores.turns import played_turn

CLEAN, CUT = played_turn(), played_turn(form=False)
OUT_OF_FORM = replace(played_turn(), format_is_valid=False)
TIME_OUT = "the server gave no answer within 600 s"


def test_each_cause_is_counted_once_and_left_out_once():
    episodes = [
        episode(0, True, [CLEAN], "success"),
        episode(1, False, [CLEAN]),
        episode(2, False, [CUT], "invalid_format"),  # cut, and so out of form
        episode(3, False, [OUT_OF_FORM], "invalid_format"),
        episode(4, False, [CLEAN], "context_overflow"),
        replace(episode(5, False, [CLEAN], "given_up"), error=TIME_OUT),
        episode(6, True, [CUT, CLEAN], "success"),
    ]
    found = compute_drops(episodes, {7: ["HTTP 500", "HTTP 429"]}, 12)
    assert {name: found[name] for name in found if not name.startswith("with")} == {
        "planned": 12,
        "missing": 3,
        "excluded": {"HTTP 429": 1, "HTTP 500": 1},
        "given_up": {"time-out": 1},
        "context_overflow": 1,
        "cut": 2,
        "invalid_format": 1,
    }
    assert sum(count_drops(found).values()) == 12 - 2
    assert (found["without"]["episodes"], found["without"]["score"]) == (2, 0.5)
    assert found["with_excluded"]["episodes"] == 9
    assert found["with_excluded"]["score"] == round(2 / 9, 6)
    low, high = mean_estimate([[1.0], [0.0]]).interval
    assert found["without"]["score_interval"] == pytest.approx([low, high], abs=1e-6)
    assert describe_drops(found) == (
        "3 missing, 2 excluded (1 HTTP 429, 1 HTTP 500), 1 given up and failed (1 time-out), "
        "1 outgrew the context, 2 cut at the token limit, 1 never in form"
    )


def test_a_run_as_planned_has_no_manifest():
    assert compute_drops([episode(i, False, [CLEAN], "truncated") for i in range(3)], {}, 3) == {}


def test_where_no_episode_is_left_there_is_no_score():
    found = compute_drops([episode(0, False, [OUT_OF_FORM], "invalid_format")], {}, 1)
    assert found["without"] == {"episodes": 0}


outcomes = st.sampled_from(["success", "failure", "invalid_format", "context_overflow", "given_up"])


@given(st.lists(st.tuples(outcomes, st.booleans()), min_size=1, max_size=12), st.integers(0, 3))
def test_counts_and_clean_episodes_make_all_planned_ones(played, missing):
    episodes = [
        episode(i, how == "success", [CUT if cut else CLEAN], how)
        for i, (how, cut) in enumerate(played)
    ]
    found = compute_drops(episodes, {}, len(episodes) + missing)
    clean = [one for one, (how, cut) in zip(episodes, played, strict=True) if not cut]
    clean = [one for one in clean if one.outcome in ("success", "failure")]
    dropped = sum(count_drops(found).values())
    assert dropped == len(episodes) + missing - len(clean)
    if "without" in found and clean:
        assert found["without"]["score"] == round(sum(x.score for x in clean) / len(clean), 6)
    merged = merge_drops([found, found])
    assert sum(count_drops(merged).values()) == 2 * (dropped - found.get("missing", 0))


def test_a_summary_names_what_its_scores_lack(tmp_path):
    evaluation = replace(BASE, instances={LAKE: 3}, samples=1)
    run = play_run(evaluation, resolve("random"), tmp_path / "run")
    first, *rest = run.episodes()
    assert "drops" not in compute_summary(run.config, [first, *rest], {})["envs"][0]
    fault = Fault(LAKE, "test", first.index, first.sample, "HTTP 500")
    (row,) = compute_summary(run.config, rest, {}, {fault.key: fault.reason})["envs"]
    assert row["drops"]["excluded"] == {"HTTP 500": 1}
    assert row["drops"]["with_excluded"]["episodes"] == 3
    assert "without" not in row["drops"]
