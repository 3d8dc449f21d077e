"""What is added to an environment's reward, each term a small function of a turn as recorded."""

from __future__ import annotations

from collections.abc import Callable

from ragen_bench.episode import Record
from ragen_starpo.recipe import Shaping


def reward_of(weights: Shaping) -> Callable[[Record], float]:
    """Return the function from a recorded turn to the reward that is learned.

    Args:
        weights: of the terms; where all are 0, it is the environment's reward.
    """
    terms = ((weights.format_penalty, broken_format), (weights.turn_cost, each_turn))

    def reward(turn: Record) -> float:
        return float(turn["reward"]) - sum(weight * term(turn) for weight, term in terms if weight)

    return reward


def broken_format(turn: Record) -> float:
    """Return 1 for an answer that was not in form, which environments punish a little already."""
    return 0.0 if turn["format_is_valid"] else 1.0


def each_turn(turn: Record) -> float:
    """Return 1: a turn is a turn."""
    return 1.0
