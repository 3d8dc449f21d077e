"""Episodes: the record says what the environment did, whoever answered."""

import gymnasium
import pytest

from ragen_bench.models import Completion, Sampling, resolve
from ragen_bench.runner import Task, chunks, play, tasks_of
from ragen_envs.registration import IDS

SAMPLING = Sampling(temperature=1.0, max_tokens=8, stop="</answer>", seed=0)


class Scripted:
    """Gives the same answers in every episode."""

    batch_size = 4

    def __init__(self, *answers):
        self.answers = answers
        self.seen = []

    def identity(self):
        return {}

    def complete(self, requests, sampling):
        self.seen.append([request.key for request in requests])
        return [
            Completion(self.answers[int(request.key.rpartition("/")[2])], 7, 3)
            for request in requests
        ]


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
    [record] = play([Task(env, "val", 5, 3)], resolve("random"), SAMPLING, "think")
    replayed = gymnasium.make(env, split="val")
    observation, info = replayed.reset(seed=5, options={"rollout": record["rollout"]})
    for turn in record["turns"]:
        assert turn["observation"] == observation
        observation, reward, terminated, truncated, info = replayed.step(turn["answer"])
        assert (turn["reward"], turn["terminated"], turn["truncated"]) == (
            reward,
            terminated,
            truncated,
        )
    assert terminated or truncated
    assert record["final_observation"] == observation
    assert record["success"] == info["success"]
    assert record["instance"] == info["instance"]


@pytest.mark.parametrize(
    ("answers", "outcome", "actions"),
    [
        (["no form"] * 5, "invalid_format", []),
        (["<think></think><answer>Jump || up</answer>"] + ["-"] * 4, "truncated", ["Up"]),
    ],
)
def test_outcomes_of_answers_that_do_not_solve(answers, outcome, actions):
    [record] = play([Task("ragen/Sokoban-v0", "test", 0, 0)], Scripted(*answers), SAMPLING, "think")
    assert record["outcome"] == outcome
    assert record["turns"][0]["actions"] == actions
    assert record["turns"][0]["prompt_tokens"] == 7
    assert len(record["turns"]) == 5


def test_the_oracle_succeeds_and_a_wrong_arm_fails():
    tasks = tasks_of({"ragen/Bandit-v0": 8, "ragen/Sokoban-v0": 8}, "test", 1)
    solved = play(tasks, resolve("oracle"), SAMPLING, "think")
    assert [record["outcome"] for record in solved] == ["success"] * 16
    arms = gymnasium.make("ragen/Bandit-v0", split="test").reset(seed=0)[1]["legal_actions"]
    outcomes = {
        play(tasks[:1], Scripted(f"<think></think><answer>{arm}</answer>"), SAMPLING, "think")[0][
            "outcome"
        ]
        for arm in arms
    }
    assert outcomes == {"success", "failure"}


def test_keys_are_unique_in_a_run():
    model = Scripted(*["<think></think><answer>Up</answer>"] * 5)
    play(tasks_of({"ragen/Sokoban-v0": 3}, "test", 2), model, SAMPLING, "think")
    keys = [key for batch in model.seen for key in batch]
    assert len(keys) == len(set(keys)) == 6 * 5


def test_samples_of_an_instance_share_the_start_but_not_the_noise():
    tasks = tasks_of({"ragen/FrozenLake-v0": 1}, "test", 24)
    model = Scripted(*["<think></think><answer>Up || Up</answer>"] * 5)
    records = play(tasks, model, SAMPLING, "think")
    assert len({record["turns"][0]["observation"] for record in records}) == 1
    assert len({str([t["observation"] for t in record["turns"]]) for record in records}) > 1


def test_another_seed_gives_other_noise():
    def rollouts(seed):
        sampling = Sampling(1.0, 8, "", seed)
        tasks = tasks_of({"ragen/FrozenLake-v0": 1}, "test", 3)
        return {record["rollout"] for record in play(tasks, resolve("random"), sampling, "think")}

    assert not rollouts(0) & rollouts(1)
