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

    def _symbols(self):
        return frozenset("№")

    def candidates(self, stream):
        while True:
            yield Number(stream.below(1000))

    def write_instance(self, instance):
        return str(instance.first), {}

    @staticmethod
    def read_instance(body, figures):  # noqa: ARG004 (as the hook has it)
        return Number(int(body))

    def _begin(self, instance):
        self.number = instance.first
        self.noise = self._dynamics().word()
        return ActionReader(ACTIONS, self.example)

    def _apply(self, action):
        name = ACTIONS[action]
        self.number += name == "Up"
        self._terminated = name in ("Win", "Lose")
        self._success = name == "Win"
        return POINTS[name], name == "Up"

    def _rules(self):
        return "Count."

    def _state(self):
        return f"№ {self.number}"

    def _oracle(self, instance):
        return {"ceiling": 1.0}

    def best_actions(self):
        return ("Win",)


def count(response_format="plain", **budget):
    return CountEnv(CountVariant(budget=Budget(**budget)), response_format=response_format)
