"""Edited episodes are caught, each with its own reason, though the cheat mends the hash."""

import json
import shutil

import pytest

from ragen_bench.leaderboard.verify import verify
from ragen_bench.runs.json_lines import to_line
from tests.ragen_bench.leaderboard.entries import (
    edit_entry,
    edit_records,
    entry_of,
    evaluation,
    problems_of,
    records,
    write_lines,
    write_records,
)

LINE = "episodes: line 1 "
EPISODE = LINE + "(ragen/Sokoban-v0/test/0/0) "


def first_turn(name, value):
    return lambda found: found[0]["turns"][0].update({name: value})


def first(name, value):
    return lambda found: found[0].update({name: value})


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (first_turn("observation", "You won."), EPISODE + "turns[0].observation: recorded"),
        (first_turn("reward", 10.9), EPISODE + "turns[0].reward: recorded 10.9, recomputed "),
        (first_turn("actions", ["Left"]), EPISODE + "turns[0].actions"),
        (first_turn("format_is_valid", 1), LINE + "has turns[0].format_is_valid 1, which"),
        (first_turn("terminated", True), EPISODE + "turns[0].terminated: recorded true, "),
        (first("success", False), EPISODE + "success: recorded false, recomputed true"),
        (first("outcome", "failure"), EPISODE + 'outcome: recorded "failure", recomputed "su'),
        (first("score", 0.5), EPISODE + "score: recorded 0.5, recomputed 1.0"),
        (first("return", 99.0), EPISODE + "return: recorded 99.0, recomputed "),
        (first("ceiling", 0.5), EPISODE + "ceiling: recorded 0.5, recomputed 1.0"),
        (first("instance", "0" * 16), EPISODE + 'instance: recorded "0000'),
        (first("rollout", 1), EPISODE + "rollout: recorded 1, recomputed 0"),
        (first("final_observation", ""), EPISODE + 'final_observation: recorded "", recomputed'),
        (first("comment", "hello"), EPISODE + 'has the unknown field "comment"'),
        (first_turn("x\n" * 99, 1), EPISODE + 'has the unknown field "x\\nx\\n'),
        (first_turn("reasoning", "hm"), LINE + "turns[0].reasoning: the model reasons"),
        (first_turn("finish", "abort"), LINE + 'has turns[0].finish "abort", which'),
        (first_turn("finish", ["stop"]), LINE + "has turns[0].finish a list of 1, which"),
        (first_turn("answer", None), "turns[0].answer null, which is not a text"),
        (first_turn("prompt_tokens", 1.0), "prompt_tokens 1.0, which is not a whole number"),
        (first_turn("prompt_tokens", True), "prompt_tokens true, which is not a whole number"),
        (
            first_turn("completion_tokens", -1),
            "completion_tokens -1, which is below 0",
        ),
        (lambda found: found[0].pop("ceiling"), LINE + "lacks ceiling"),
        (lambda found: found[0].pop("turns"), LINE + "lacks turns"),
        (first("turns", {}), LINE + "has turns an object, which is not a list"),
        (first("turns", [[]]), LINE + "has turns[0] a list of 0, which is not an object"),
        (first("index", "0"), LINE + 'has index "0", which is not a whole number'),
        (lambda found: found[0]["turns"].pop(), "the episode goes on after turn"),
        (
            lambda found: found[0]["turns"].append(found[0]["turns"][0]),
            ": the episode ended a turn earlier",
        ),
        (
            first("outcome", "context_overflow"),
            "outcome: recorded context_overflow, but the episode ended with turn",
        ),
        (first("env", "ragen/Bandit-v0"), '"ragen/Bandit-v0" "test", which run.json does not name'),
        (first("env", "ragen/../../etc"), '"ragen/../../etc" "test", which run.json does not name'),
        (first("split", "train"), '"ragen/Sokoban-v0" "train", which run.json does not name'),
        (first("index", 4), "is of instance 4, sample 0, beyond run.json's"),
        (first("sample", 1), "is of instance 0, sample 1, beyond run.json's"),
    ],
)
def test_an_edited_episode_is_caught(entry, edit, says):
    edit_records(entry, edit)
    found = problems_of(entry)
    assert says in found[0], found
    # The rest of the record is looked at, and the one episode is missed at the end.
    if "is of" not in says and len(found) == 2:
        assert found[1].startswith("episodes: 1 of 8 episodes are missing, first ragen/Sokoban-v0")


def winning(found):
    """Put the answers of a solved episode into a failed one of the same game."""
    won = next(r for r in found if r["success"])
    lost = next(r for r in found if not r["success"] and r["env"] == won["env"])
    for turn, other in zip(lost["turns"], won["turns"], strict=False):
        turn["answer"] = other["answer"]


def test_an_edited_answer_is_caught_where_it_matters(entry):
    edit_records(entry, winning)
    (problem, *_) = problems_of(entry)
    assert problem.startswith("episodes: line ")
    assert ": recorded " in problem or "the episode" in problem


def test_whole_episodes_of_another_player_change_the_figures(entry, tmp_path):
    better = entry_of(tmp_path / "oracle", evaluation("oracle", "tiny"))
    perfect = records(better)
    for record in perfect:
        for turn in record["turns"]:
            turn.update(prompt_tokens=100, completion_tokens=5)
    write_records(entry, perfect)
    assert problems_of(entry)[0].startswith("figures: summary.")


def test_answers_that_a_scripted_player_does_not_give(entry):
    for model in ("random", "oracle"):
        edit_entry(entry, lambda e, model=model: e["run"].update(model=model))
        assert f"by the model {model}" in problems_of(entry)[0]


def tokens(name, value, where=0):
    def edit(found):
        found[0]["turns"][where][name] = value

    return edit


def test_an_edited_token_count_breaks_the_hash(entry):
    edit_records(entry, tokens("completion_tokens", 7), rehash=False)
    # Another number may be longer: then more is unpacked than was said, or less.
    ((problem),) = problems_of(entry)
    assert problem.startswith(
        ("episodes: episodes_sha256: recorded ", "episodes: episodes_bytes: ")
    )
    write_records(entry, records(entry))
    edit_entry(entry, lambda e: e.update(episodes_sha256="0" * 64))
    ((problem),) = problems_of(entry)
    assert problem.startswith('episodes: episodes_sha256: recorded "0000')


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (tokens("completion_tokens", 33), "figures: summary.envs[0].completion_tokens: recorded "),
        (tokens("prompt_tokens", 101), "figures: summary.envs[0].prompt_tokens: recorded "),
        (
            # Of an agent of one's own, which may ask models more than once for an answer.
            tokens("completion_tokens", 10**7 + 1),
            EPISODE + "turns[0].completion_tokens: 10000001 is more than the maximum of 10000000",
        ),
        (
            tokens("prompt_tokens", 10**7 + 1),
            EPISODE + "turns[0].prompt_tokens: 10000001 is more than the maximum of 10000000",
        ),
        (tokens("prompt_tokens", 0), "episodes: ragen/Sokoban-v0/test/0/0 turns[0].prompt_tokens"),
    ],
)
def test_an_edited_token_count_with_its_hash_is_caught(entry, edit, says):
    assert records(entry)[0]["turns"][0]["completion_tokens"] != 33
    edit_records(entry, edit)
    assert problems_of(entry)[0].startswith(says)


def test_more_tokens_than_one_answer_of_a_model_may_have(entry):
    edit_entry(entry, lambda e: e["run"].update(model="hf/somebody"))
    edit_records(entry, tokens("completion_tokens", 41))
    says = "turns[0].completion_tokens: 41 is more than the maximum of 40"
    assert problems_of(entry)[0] == EPISODE + says


def long_thought(found):
    turn = next(t for r in found for t in r["turns"] if t["answer"].startswith("<think>"))
    turn["answer"] = turn["answer"].replace("<think>", "<think>" + "hm " * 4000)
    turn["completion_tokens"] = 5


def no_tokens(found):
    turn = next(t for r in found for t in r["turns"] if t["answer"])
    turn["completion_tokens"] = 0


def test_text_needs_tokens(entry):
    edit_records(entry, long_thought)
    assert "completion_tokens: 5 is too few for 12" in problems_of(entry)[0]
    edit_records(entry, no_tokens)
    assert "completion_tokens is 0, though ragen/" in "".join(problems_of(entry))


def test_a_model_that_counts_nothing_is_verified(tmp_path):
    path = entry_of(tmp_path, evaluation("random"))
    assert {t["completion_tokens"] for r in records(path) for t in r["turns"]} == {0}
    assert problems_of(path) == []


def swap(found):
    found[2], found[5] = found[5], found[2]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            lambda found: found[:3] + found[4:],
            ["1 of 8 episodes are missing, first ragen/Sokoban-v0/test/3/0"],
        ),
        (
            lambda found: found[:5],
            ["3 of 8 episodes are missing, first ragen/FrozenLake-v0/test/1/0"],
        ),
        (
            lambda found: found[:3] + found[2:],
            [
                "line 4 (ragen/Sokoban-v0/test/2/0) is there twice, in line 3 first",
                "there are more lines than the 8 episodes planned",
            ],
        ),
        (
            lambda found: [*found[:3], found[2], *found[4:]],
            [
                "line 4 (ragen/Sokoban-v0/test/2/0) is there twice, in line 3 first",
                "1 of 8 episodes are missing, first ragen/Sokoban-v0/test/3/0",
            ],
        ),
        (
            lambda found: found * 2,
            ["there are more lines than the 8 episodes planned"],
        ),
    ],
)
def test_episodes_are_there_once_each(entry, edit, says):
    write_records(entry, edit(records(entry)))
    assert problems_of(entry) == [f"episodes: {one}" for one in says]


def test_episodes_are_in_order(entry):
    edit_records(entry, swap)
    found = problems_of(entry)
    assert len(found) == 3
    assert all(
        "is out of order: it belongs before the episode of the line above" in f for f in found
    )


def test_an_entry_without_episodes(entry):
    write_lines(entry, [])
    assert "entry.json: episodes_bytes: 0 is below 1" in problems_of(entry)
    edit_entry(entry, lambda e: e.update(episodes_bytes=1))
    assert problems_of(entry) == [
        "episodes: 8 of 8 episodes are missing, first ragen/Sokoban-v0/test/0/0"
    ]


def test_the_best_of_many_samples_is_caught(many, entry):
    found = records(many)
    best = [max(found[i : i + 8], key=lambda r: r["score"]) for i in range(0, 64, 8)]
    assert sum(r["score"] for r in best) > sum(r["score"] for r in records(entry))
    write_records(entry, best)
    assert "beyond run.json's" in problems_of(entry)[0]
    for record in best:
        record["sample"] = 0
    write_records(entry, best)
    assert ") rollout: recorded " in problems_of(entry)[0]
    for record in best:
        record["rollout"] = 0
    write_records(entry, best)
    # The noise of the chosen samples was another: on slippery ice the steps do not fit.
    assert "(ragen/FrozenLake-v0/test/" in problems_of(entry)[0]


def test_the_claim_of_fewer_samples_is_caught(many, tmp_path, entry):
    shutil.copytree(many, tmp_path / "few")
    edit_entry(tmp_path / "few", lambda e: e["run"].update(samples=1))
    assert "is of instance 0, sample 1, beyond run.json's" in problems_of(tmp_path / "few")[0]
    edit_entry(entry, lambda e: e["run"].update(samples=2))
    assert "8 of 16 episodes are missing, first ragen/Sokoban-v0/test/0/1" in problems_of(entry)[0]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda s: s.update(suite_score=1.0), "summary.suite_score: recorded 1.0, recomputed "),
        (lambda s: s.update(planned=9), "summary.planned: recorded 9, recomputed 8"),
        (lambda s: s.update(model="better"), 'summary.model: recorded "better", recomputed "pyth'),
        (
            lambda s: s.update(suite_score_interval=[-9.0, 9.0]),
            "summary.suite_score_interval[0]: recorded",
        ),
        (lambda s: s["envs"].pop(), "summary.envs: recorded a list of 1, recomputed a list of 2"),
        (lambda s: s["envs"][1].update(success=1.0), "summary.envs[1].success: recorded 1.0, "),
        (lambda s: s["envs"][0]["random"].update(score=0.0), "summary.envs[0].random.score: "),
        (lambda s: s["envs"][0]["oracle"].update(ceiling=0.9), "summary.envs[0].oracle.ceiling: "),
        (lambda s: s["envs"][0].update(extra=1), "summary: has unknown fields, or numbers in"),
        (lambda s: s["envs"][0].update(episodes=4.0), "summary: has unknown fields, or numbers in"),
    ],
)
def test_edited_figures_are_caught(entry, edit, says):
    def inside(whole):
        edit(whole["summary"])

    edit_entry(entry, inside)
    (problem,) = problems_of(entry)
    assert problem.startswith(f"figures: {says}")


def test_another_way_of_writing_is_no_record(entry):
    found = records(entry)
    lines = [json.dumps(record).encode() for record in found]
    write_lines(entry, lines)
    assert problems_of(entry)[0] == EPISODE + "is not written as the harness writes it"
    write_lines(entry, map(to_line, found))
    assert problems_of(entry) == []


def test_fields_of_a_later_version_may_be_missing_and_are_recomputed(entry):
    def efficiency_of(whole):
        return next(row for row in whole["summary"]["envs"] if "efficiency" in row)["efficiency"]

    edit_entry(entry, lambda whole: efficiency_of(whole).update(solved=1000))
    (problem,) = problems_of(entry)
    assert ".efficiency.solved: recorded 1000, recomputed " in problem

    def drop(whole):
        for row in whole["summary"]["envs"]:
            row.pop("efficiency", None)
            row.pop("drops", None)

    edit_entry(entry, drop)
    verdict = verify(entry)
    assert verdict.problems == []
    assert any("efficiency" in row for row in verdict.summary["envs"])
