"""Lamps as a text environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lamp_game import text
from lamp_game.generator import generate_rows
from lamp_game.rules import GAME, Row, press
from lamp_game.solver import solve
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv

EXAMPLE = "ACTION || ACTION"
_READER = ActionReader(text.NAMES, EXAMPLE)
_BUDGET = Budget(max_turns=4, max_actions_per_turn=3, max_actions=8)


@dataclass(frozen=True)
class LampVariant:
    """One environment.

    Attributes:
        name: The id without its namespace.
        budget: The maximum of turns and actions in an episode.
    """

    name: str
    budget: Budget = _BUDGET


class LampEnv(TextEnv[LampVariant, Row]):
    """Switch off a row of 18 lamps; a press switches a lamp and its neighbours.

    | | |
    | --- | --- |
    | actions | 1 to 18: press a lamp |
    | rewards | +1 when all are off, else 0; -0.1 for a turn with a broken form, no or an unknown action |
    | ends | terminated when all are off; truncated after 4 turns or 8 actions |
    | success | all lamps are off |
    | instances | rows that two to six presses switch off |
    | oracle | the shortest solution |
    """  # noqa: E501

    __slots__ = ("state",)
    variants = {"Lamps-v0": LampVariant("Lamps-v0")}
    game = GAME
    held_out_files = "instances/{name}-{split}.txt"
    stochastic = False
    example = EXAMPLE
    has_fixed_actions = True

    def generate_instances(self, stream: RandomStream) -> Iterator[Row]:
        """Yield random rows."""
        return generate_rows(stream)

    def write_instance(self, instance: Row) -> tuple[str, dict[str, object]]:
        """Return the row as text."""
        return text.render(instance.state), {}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Row:  # noqa: ARG004
        """Return the row of a text."""
        return Row(sum(1 << lamp for lamp, sign in enumerate(body) if sign == "*"))

    def start_instance(self, instance: Row) -> ActionReader:
        self.state = instance.state
        return _READER

    def apply_action(self, action: int) -> tuple[int, bool]:
        self.state = press(self.state, action)
        if not self.state:
            self.terminated = self.success = True
            return 100, True
        return 0, True

    def describe_rules(self) -> str:
        return text.rules(self.budget)

    def render_state(self) -> str:
        return text.render(self.state)

    def compute_oracle_info(self, instance: Row) -> dict[str, float]:
        return {"ceiling": 1.0, "optimal_length": len(solve(instance.state))}

    def find_best_actions(self) -> tuple[str, ...]:
        return tuple(text.NAMES[lamp] for lamp in solve(self.state)[: self.actions_this_turn])
