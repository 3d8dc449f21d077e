"""Episodes: the record says what the environment did, whoever answered."""

import time

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import chunks, play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Sampling, resolve
from ragen_envs.registration import IDS

from ..players import Player, Scripted, Unordered, records_of

SAMPLING = Sampling(temperature=1.0, max_tokens=8, stop="</answer>", seed=0)


def test_tasks_enumerate_environment_instance_and_sample():
    tasks = tasks_of({"a": 2, "b": 1}, "val", 2)
    assert [(t.env, t.index, t.sample) for t in tasks] == [
        ("a", 0, 0),
        ("a", 0, 1),
        ("a", 1, 0),
        ("a", 1, 1),
        ("b", 0, 0),
        ("b", 0, 1),
    ]
    assert [len(group) for group in chunks(tasks, 4)] == [4, 2]


@pytest.mark.parametrize("env", IDS)
def test_a_record_replays_through_gymnasium(env):
    [record] = records_of([Task(env, "val", 5, 3)], resolve("random"), SAMPLING)
    replayed = gymnasium.make(env, split="val")
    observation, info = replayed.reset(seed=5, options={"noise_seed": record.rollout})
    for turn in record.turns:
        assert turn.observation == observation
        observation, reward, terminated, truncated, info = replayed.step(turn.answer)
        assert (turn.reward, turn.terminated, turn.truncated) == (
            reward,
            terminated,
            truncated,
        )
    assert terminated or truncated
    assert record.final_observation == observation
    assert record.success == info["success"]
    assert record.instance == info["instance"]


@pytest.mark.parametrize(
    ("answers", "outcome", "actions"),
    [
        (["no form"] * 5, "invalid_format", []),
        (["<think></think><answer>Jump || up</answer>"] + ["-"] * 4, "truncated", ["Up"]),
    ],
)
def test_outcomes_of_answers_that_do_not_solve(answers, outcome, actions):
    [record] = records_of(
        [Task("ragen/Sokoban-v0", "test", 0, 0)], Scripted(*answers), SAMPLING, "think"
    )
    assert record.outcome == outcome
    assert record.turns[0].actions == actions
    assert record.turns[0].prompt_tokens == 7
    assert len(record.turns) == 5


def test_the_oracle_succeeds_and_a_wrong_arm_fails():
    tasks = tasks_of({"ragen/Bandit-v0": 8, "ragen/Sokoban-v0": 8}, "test", 1)
    solved = records_of(tasks, resolve("oracle"), SAMPLING)
    assert [record.outcome for record in solved] == ["success"] * 16
    arms = gymnasium.make("ragen/Bandit-v0", split="test").reset(seed=0)[1]["legal_actions"]
    outcomes = {
        records_of(
            tasks[:1], Scripted(f"<think></think><answer>{arm}</answer>"), SAMPLING, "think"
        )[0].outcome
        for arm in arms
    }
    assert outcomes == {"success", "failure"}


def test_keys_are_unique_in_a_run():
    model = Scripted(*["<think></think><answer>Up</answer>"] * 5)
    records_of(tasks_of({"ragen/Sokoban-v0": 3}, "test", 2), model, SAMPLING)
    keys = [key for batch in model.seen for key in batch]
    assert len(keys) == len(set(keys)) == 6 * 5


def test_samples_of_an_instance_share_the_start_but_not_the_noise():
    tasks = tasks_of({"ragen/FrozenLake-v0": 1}, "test", 24)
    model = Scripted(*["<think></think><answer>Up || Up</answer>"] * 5)
    records = records_of(tasks, model, SAMPLING)
    assert len({record.turns[0].observation for record in records}) == 1
    assert len({str([t.observation for t in record.turns]) for record in records}) > 1


def test_another_seed_gives_other_noise():
    def rollouts(seed):
        sampling = Sampling(1.0, 8, "", seed)
        tasks = tasks_of({"ragen/FrozenLake-v0": 1}, "test", 3)
        return {record.rollout for record in records_of(tasks, resolve("random"), sampling)}

    assert not rollouts(0) & rollouts(1)


def test_a_freed_slot_is_taken_while_the_others_go_on():
    # Bandits end after one turn, Sokoban goes on for five: nobody waits for them.
    tasks = tasks_of({"ragen/Sokoban-v0": 1, "ragen/Bandit-v0": 6}, "test", 1)
    model = Scripted(*["<think></think><answer>nothing</answer>"] * 5)
    model.slots = 2
    records_of(tasks, model, SAMPLING)
    room = "ragen/Sokoban-v0/test/0/0"
    assert model.seen == [
        [f"{room}/{turn}", f"ragen/Bandit-v0/test/{turn}/0/0"]
        if turn
        else [f"{room}/0", "ragen/Bandit-v0/test/0/0/0"]
        for turn in range(5)
    ] + [["ragen/Bandit-v0/test/5/0/0"]]


@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_a_record_does_not_depend_on_the_order_of_answers(order, slots):
    tasks = tasks_of({"ragen/Sokoban-v0": 4, "ragen/FrozenLake-v0": 4}, "test", 2)
    model = Unordered(order)
    model.slots = slots
    assert records_of(tasks, model, SAMPLING) == records_of(tasks, Unordered(0), SAMPLING)


def test_the_seconds_of_the_episodes_add_up_to_those_of_the_run():
    tasks = tasks_of({"ragen/Sokoban-v0": 8}, "test", 1)
    start = time.perf_counter()
    played = list(play(tasks, Unordered(1), SAMPLING, "think"))
    whole = time.perf_counter() - start
    assert 0 < sum(one.seconds for one in played) < whole
    assert all(0 < one.seconds <= one.elapsed < whole for one in played)


def test_an_episode_without_an_answer_is_given_up_alone():
    tasks = tasks_of({"ragen/Sokoban-v0": 6}, "test", 1)
    played = list(play(tasks, Unordered(2, lambda key: "/3/0/1" in key), SAMPLING, "think"))
    given_up = [one for one in played if one.record is None]
    assert [one.task.index for one in given_up] == [3]
    assert given_up[0].fault == "the server is asleep"
    assert len(played) == 6


def test_a_server_that_answers_nothing_ends_the_run():
    tasks = tasks_of({"ragen/Bandit-v0": 100}, "test", 1)
    ended = []
    with pytest.raises(UserError, match="is asleep; 9 requests in a row failed"):
        ended.extend(play(tasks, Unordered(3, lambda key: True), SAMPLING, "think"))
    assert len(ended) == 8


class Forgetful(Player):
    """Has room for two turns."""

    def complete(self, requests, sampling):
        return [
            Completion("", 9, 0, "context") if len(r.messages) > 3 + 2 * 2 else Completion("-")
            for r in requests
        ]


def test_a_conversation_that_outgrows_the_context_ends_the_episode():
    [record] = records_of([Task("ragen/Sokoban-v0", "test", 0, 0)], Forgetful(), SAMPLING)
    assert (record.outcome, record.success, record.score) == ("context_overflow", False, 0)
    assert len(record.turns) == 2
    assert not record.turns[-1].truncated


def test_an_answer_that_was_cut_is_flagged():
    class Endless(Player):
        def complete(self, requests, sampling):
            return [Completion("and " * 8, 7, 8, "length") for _ in requests]

    [record] = records_of([Task("ragen/Bandit-v0", "test", 0, 0)], Endless(), SAMPLING)
    assert [turn.finish for turn in record.turns] == ["length"]


class Thinker(Player):
    def __init__(self, text, reasoning=""):
        self.text, self.reasoning = text, reasoning
        self.seen = []

    def complete(self, requests, sampling):
        self.seen += [str(request.messages[3:]) for request in requests]
        return [Completion(self.text, reasoning=self.reasoning) for _ in requests]


def test_the_models_own_thoughts_are_recorded_and_never_shown_again():
    for model in (
        Thinker("<think>\nhidden\n</think>\n\n<answer>Up</answer>"),
        Thinker("hidden</think><answer>Up</answer>"),
        Thinker("<answer>Up</answer>", reasoning="hidden"),
    ):
        task = Task("ragen/Sokoban-v0", "test", 0, 0)
        [record] = records_of([task], model, SAMPLING, "answer")
        assert {turn.answer for turn in record.turns} == {"<answer>Up</answer>"}
        assert {turn.reasoning for turn in record.turns} == {"hidden"}
        assert all(turn.format_is_valid for turn in record.turns)
        assert len(model.seen) > 1
        assert not any("hidden" in messages or "think>" in messages for messages in model.seen)


def test_thoughts_that_a_server_takes_out_do_not_pass_for_answers_without_form():
    model = Thinker("<answer>Up</answer>", reasoning="hidden")
    with pytest.raises(UserError, match="add --format answer"):
        records_of([Task("ragen/Sokoban-v0", "test", 0, 0)], model, SAMPLING)


def test_a_history_hides_turns_from_the_model_alone():
    tasks = [Task("ragen/Sokoban-v0", "test", 0, 0)]
    model = Thinker("<think></think><answer>Up</answer>")
    [whole] = records_of(tasks, model, SAMPLING)
    full = list(model.seen)
    model.seen.clear()
    [cut] = records_of(tasks, model, SAMPLING, history=1)
    assert whole == cut
    assert model.seen[:2] == full[:2]
    assert len(model.seen[-1]) < len(full[-1])
    assert "Turns that are not shown: 3." in model.seen[-1]
