"""A game that is small enough to be counted by hand.

The player of `CountEnv` stands on a number. Up adds 1, Stay adds 0, Win ends the episode in
success and Lose ends it without; each action is worth a point of its own.
"""

from dataclasses import dataclass
from typing import ClassVar

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv

ACTIONS = ("Up", "Stay", "Win", "Lose")
POINTS = {"Up": 1, "Stay": -10, "Win": 100, "Lose": -30}


@dataclass(frozen=True)
class Number:
    first: int
    digest: str = "abc"
    part: str = "train"


@dataclass(frozen=True)
class CountVariant:
    name: str = "Count-v0"
    budget: Budget = Budget()


class CountEnv(TextEnv[CountVariant, Number]):
    variants: ClassVar = {"Count-v0": CountVariant()}
    game = "count"
    held_out_files = "{name}-{split}.txt"
    example = "WORD || WORD"

    @property
    def extra_characters(self):
        return frozenset("№")

    def generate_instances(self, stream):
        while True:
            yield Number(stream.below(1000))

    def write_instance(self, instance):
        return str(instance.first), {}

    @staticmethod
    def read_instance(body, fields):  # noqa: ARG004 (as the hook has it)
        return Number(int(body))

    def start_instance(self, instance):
        self.number = instance.first
        self.noise = self.make_noise_stream().word()
        return ActionReader(ACTIONS, self.example)

    def apply_action(self, action):
        name = ACTIONS[action]
        self.number += name == "Up"
        self.terminated = name in ("Win", "Lose")
        self.success = name == "Win"
        return POINTS[name], name == "Up"

    def describe_rules(self):
        return "Count."

    def render_state(self):
        return f"№ {self.number}"

    def best_actions(self):
        return ("Win",)


def count(response_format="plain", **budget):
    return CountEnv(CountVariant(budget=Budget(**budget)), response_format=response_format)
