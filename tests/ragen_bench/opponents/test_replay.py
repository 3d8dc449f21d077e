"""Two models in one game: replay recomputes every reply."""

import copy
import json

import pytest

from ragen_bench.episodes.replay import replay
from ragen_bench.runs.checked import read_episode

from .support import problem_of


def test_replay_agrees_with_every_episode(run, episodes):
    through_json = map(read_episode, json.loads(json.dumps(episodes)))
    assert [problem for _, problem in replay(run.config, through_json)] == [None] * len(episodes)


def asked_turn(record):
    """Return the number of a turn whose question the rule answers and the opponent answered."""
    return next(
        number
        for number, turn in enumerate(record["turns"])
        if "opponent" in turn and turn["opponent"]["rule"] and turn["opponent"]["read"]
    )


TAMPERED = {
    "answer": (lambda reply: "Yes" if reply["read"] != "Yes" else "No", "recorded"),
    "observation": (lambda reply: reply["observation"] + " ", "observation: recorded"),
    "rule": (lambda reply: "Sometimes" if reply["rule"] != "Sometimes" else "No", "rule: recorded"),
    "read": (lambda reply: None, "read: recorded null, recomputed"),
    "readable": (lambda reply: False, "readable: recorded false, recomputed true"),
    "agrees": (lambda reply: not reply["agrees"], "agrees: recorded"),
    "finish": (lambda reply: "context", 'opponent.finish: recorded "context"'),
    "prompt_tokens": (lambda reply: -1, "opponent.prompt_tokens -1, which is below 0"),
    "reasoning": (lambda reply: None, "opponent.reasoning null, which is not a text"),
}


@pytest.mark.parametrize("field", TAMPERED)
def test_a_tampered_reply_is_refused(run, episodes, field):
    record = copy.deepcopy(episodes[0])
    reply = record["turns"][asked_turn(record)]["opponent"]
    change, says = TAMPERED[field]
    reply[field] = change(reply)
    problem = problem_of(run, record)
    assert says in problem
    assert "\n" not in problem


def test_a_reply_that_is_missing_or_too_much_is_refused(run, episodes):
    record = copy.deepcopy(episodes[0])
    number = asked_turn(record)
    reply = record["turns"][number].pop("opponent")
    says = f"turns[{number}].opponent: is missing, and an opponent was asked"
    assert problem_of(run, record) == says
    [other, *_] = [one for one in episodes if any("opponent" not in t for t in one["turns"])]
    record = copy.deepcopy(other)
    number = next(i for i, turn in enumerate(record["turns"]) if "opponent" not in turn)
    record["turns"][number]["opponent"] = reply
    says = f"turns[{number}].opponent: is recorded, and no opponent was asked"
    assert problem_of(run, record) == says


def has_other_replies(record):
    """Whether a reply was judged that neither agreed nor was wrong, so that a part may be more."""
    counts = record["opponent"]
    return counts["judged"] > counts["agreed"] + counts["wrong"]


@pytest.mark.parametrize("name", ["judged", "agreed", "wrong", "unreadable", "overflowed"])
def test_tampered_counts_are_refused(run, episodes, name):
    record = copy.deepcopy(next(each for each in episodes if has_other_replies(each)))
    record["opponent"][name] += 1
    assert f"opponent.{name}" in problem_of(run, record)
