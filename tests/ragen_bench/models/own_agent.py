"""Runs of agents that a test writes into the module `own_agent`."""

from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.models.base import Sampling

SAMPLING = Sampling(0.5, 8, "", 0)


TWELVE = tasks_of({"ragen/FrozenLake-v0": 6}, "test", 2)


LAKE = "ragen/FrozenLake-v0/test"
TOLD = """
from dataclasses import asdict

told = []


class Told:
    def reset(self, episode):
        self.told = [asdict(episode)]
        told.append(self.told)

    def act(self, messages, turn):
        self.told.append(asdict(turn))
        self.told[-1]["read"] = len(messages)
        return "nothing"
"""
"""The source of an agent that keeps what it is told."""


def played(model, tasks=TWELVE, form="think", **more):
    return list(play(tasks, model, SAMPLING, form, **more))


def records(model, form="think", **more):
    every = {one.task.key: one.record.as_json() for one in played(model, form=form, **more)}
    return [every[key] for key in sorted(every)]


def run_of(attribute="answer"):
    """Return a short evaluation of the module's attribute."""
    return Evaluation(
        model=f"python:own_agent:{attribute}",
        suite="",
        instances={"ragen/FrozenLake-v0": 3},
        split="test",
        response_format="think",
        samples=1,
        seed=0,
        temperature=0.5,
        max_tokens=8,
    )
