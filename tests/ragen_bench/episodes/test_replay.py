"""Replaying records: equal ones are equal, and each is replayed by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.replay import Replayer, replay
from ragen_bench.models import Completion
from ragen_bench.runs.checked import read_episode
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import format_answer
from tests.ragen_bench.episodes.replayed import (
    play,
    problem_of,
    through_json,
    with_changes,
)

pytestmark = pytest.mark.slow


def test_records_are_equal_to_their_replay(configs, records):
    results = list(replay(configs["think"], map(read_episode, map(through_json, records))))
    assert [problem for _, problem in results] == [None] * len(records)
    assert [key for key, _ in results] == [
        (r["env"], "test", r["index"], r["sample"]) for r in records
    ]


@pytest.mark.parametrize("form", ["think", "answer", "plain"])
def test_searches_in_words_of_ones_own_are_recorded_and_replayed(configs, form):
    words = iter(("Search[ Tripod  MOUNT\n]", "search[]", "search[a]b]", "click[back to search]"))

    def answer(env):
        said = next(words, "search[\u00e4\u00f6 100 %]")
        return Completion(format_answer([said], form, "so"))

    record = play("ragen/WebShop-v0", 0, 0, answer, form)
    actions = [turn["actions"] for turn in record["turns"]]
    assert actions[:4] == [["search[tripod mount]"], [], [], ["click[back to search]"]]
    assert actions[4:] == [["search[100 %]"], [], [], [], []]
    assert "Done: search[tripod mount]. Reward: 0." in record["turns"][1]["observation"]
    assert problem_of(configs[form], through_json(record)) is None
    record["turns"][0]["actions"] = ["search[tripod]"]
    assert problem_of(configs[form], record).startswith("turns[0].actions[0]: recorded ")


def test_an_edited_answer_shows_where_it_first_matters(configs):
    record = play("ragen/Sokoban-v0", 0, 0, lambda env: Completion(oracle_answer(env)))
    assert record["success"]
    record["turns"][0]["answer"] = "<think></think><answer>Up</answer>"
    problem = problem_of(configs["think"], record)
    assert problem == "turns: the episode goes on after turn 2, the last one"
    record["turns"] *= 2
    record["turns"][3]["answer"] = "<think></think><answer>Up || Up || Up || Up</answer>"
    assert problem_of(configs["think"], record) == (
        'outcome: recorded "success", recomputed "truncated"'
    )


def test_one_bad_record_does_not_spoil_the_next(configs, records):
    given = [records[0], {**records[1], "score": 0.123}, records[1]]
    results = list(replay(configs["think"], map(read_episode, given)))
    assert [problem is None for _, problem in results] == [True, False, True]


def test_replaying_streams(configs, records):
    taken = []

    def source():
        for number, record in enumerate(records):
            taken.append(number)
            yield read_episode(record)

    results = replay(configs["think"], source())
    for number in range(5):
        next(results)
        assert taken == list(range(number + 1))


@pytest.mark.parametrize("turns", [0, 2])
def test_an_overflow_must_not_have_ended_by_itself(configs, turns):
    made = make_env("ragen/Sokoban-v0", "test", "think")
    episode = Episode(Task("ragen/Sokoban-v0", "test", 1, 0), 5, made, "think")
    for _ in range(turns):
        episode.take(Completion("nothing"))
    episode.take(Completion("", finish="context"))
    record = episode.record().as_json()
    assert problem_of(configs["think"], record) is None
    record["outcome"] = "truncated"
    problem = problem_of(configs["think"], record)
    goes_on = f"turns: the episode goes on after turn {turns}, the last one"
    assert problem == (goes_on if turns else "has no turn")


TAGS = st.sampled_from(
    ["<think>", "</think>", "<answer>Up</answer>", " ", "\n", "hm", "Up || Left"]
)


@settings(max_examples=40)
@given(
    st.lists(st.lists(TAGS, max_size=6).map("".join), min_size=5, max_size=5),
    st.sampled_from(["answer", "plain"]),
)
def test_models_that_reason_by_themselves_replay(configs, texts, form):
    answers = iter(texts)
    record = play("ragen/Sokoban-v0", 1, 2, lambda env: Completion(next(answers)), form)
    assert problem_of(configs[form], through_json(record)) is None


def test_the_seed_decides_the_noise(configs):
    records = [
        play("ragen/FrozenLake-v0", i, 0, lambda env: Completion(oracle_answer(env)))
        for i in range(4)
    ]
    other = with_changes(configs["think"], seed=6)
    assert all(problem_of(other, record) for record in records)


def test_walk_shows_the_environment_between_the_turns(configs):
    record = play("ragen/Sokoban-v0", 0, 0, lambda env: Completion(oracle_answer(env)))
    walked = Replayer(configs["think"]).walk(read_episode(record))
    shown = [episode.env.render() for episode in walked]
    told = [turn["observation"] for turn in record["turns"]] + [record["final_observation"]]
    assert len(shown) == len(told) == 3
    assert all(state in text for state, text in zip(shown, told, strict=True))
