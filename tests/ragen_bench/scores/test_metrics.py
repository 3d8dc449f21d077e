"""Figures of an opponent's replies, by hand; episodes without their texts."""

from dataclasses import replace

from ragen_bench.runs.schema import EpisodeRecord, Reply, ReplyCounts
from ragen_bench.scores.metrics import compute_metrics, compute_opponent_metrics, drop_texts
from ragen_bench.statistics import mean_interval
from ragen_envs.core.two_player import ReplyCount
from tests.ragen_bench.scores.turns import played_turn

COUNTS = (
    ReplyCount("clear", "to clear questions"),
    ReplyCount("right", "as they should be", part_of="clear", share="accuracy"),
    ReplyCount("lies", "the contrary", part_of="clear"),
)


def turn(finish=None):
    """Return a turn, with a reply that ended so if there is one."""
    reply = None
    if finish:
        reply = Reply(
            observation="?",
            answer="Yes",
            reasoning="",
            finish=finish,
            prompt_tokens=5,
            completion_tokens=2,
        )
    return played_turn(reply=reply)


def episode(index, finishes, counts, sample=0):
    return EpisodeRecord(
        env="ragen/TwentyQuestionsModel-v0",
        split="test",
        index=index,
        sample=sample,
        ceiling=1.0,
        outcome="failure",
        success=False,
        score=0.0,
        episode_return=0.0,
        opponent=counts and ReplyCounts(overflowed=False, **counts),
        turns=[turn(finish) for finish in finishes],
        final_observation="",
    )


def test_figures_of_replies_by_hand():
    played = [
        episode(0, ["stop", "length", None], {"clear": 2, "right": 1, "lies": 1}),
        episode(0, ["stop"], {"clear": 1, "right": 1, "lies": 0}, sample=1),
        episode(1, ["stop", "stop", "stop"], {"clear": 3, "right": 1, "lies": 0}),
        episode(2, ["length"], {"clear": 0, "right": 0, "lies": 0}),
        episode(3, [None], None),
    ]
    low, high = mean_interval([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert compute_opponent_metrics(played, COUNTS) == {
        "replies": 7,
        "clear": 6,
        "right": 3,
        "lies": 1,
        "accuracy": 0.5,
        "accuracy_interval": [round(low, 6), round(high, 6)],
        "cut": round(2 / 7, 6),
        "prompt_tokens": 35,
        "completion_tokens": 14,
    }


def test_a_share_of_all_replies_by_hand():
    played = [
        episode(0, ["stop", "stop", None], {"rude": 1}),
        episode(0, ["stop"], {"rude": 1}, sample=1),
        episode(1, ["stop", "stop", "length"], {"rude": 0}),
    ]
    found = compute_opponent_metrics(
        played, [ReplyCount("rude", "that are rude", share="rudeness")]
    )
    low, high = mean_interval([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    assert (found["replies"], found["rude"], found["rudeness"]) == (6, 2, round(1 / 3, 6))
    assert found["rudeness_interval"] == [round(low, 6), round(high, 6)]


def test_without_a_reply_there_is_no_share():
    assert compute_opponent_metrics([episode(0, [None], None)], COUNTS) == {
        **{"replies": 0, "clear": 0, "right": 0, "lies": 0},
        **{"accuracy": None, "accuracy_interval": None, "cut": None},
        **{"prompt_tokens": 0, "completion_tokens": 0},
    }


def test_light_episodes_have_no_texts_and_the_same_figures():
    spoken = [
        replace(one, observation="a map", answer="Up", reasoning="a wall")
        for one in (turn("length"), turn())
    ]
    counts = {"clear": 1, "right": 1, "lies": 0}
    whole = replace(episode(0, [], counts), turns=spoken, final_observation="the end")
    found = drop_texts(whole)
    assert found.final_observation == ""
    for one in (*found.turns, found.turns[0].opponent):
        assert (one.observation, one.answer, one.reasoning) == ("", "", "")
    assert found.turns[1].opponent is None
    assert compute_metrics([found]) == compute_metrics([whole])
    assert compute_opponent_metrics([found], COUNTS) == compute_opponent_metrics([whole], COUNTS)
    assert whole.turns[0].opponent.answer == "Yes"


def test_outcomes_are_counted_and_in_order():
    ended = ["truncated", "failure", "truncated", "success", "truncated"]
    played = [replace(episode(index, [], None), outcome=how) for index, how in enumerate(ended)]
    found = compute_metrics(played)["outcomes"]
    assert list(found.items()) == [("failure", 1), ("success", 1), ("truncated", 3)]
