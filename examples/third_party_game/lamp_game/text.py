"""The texts of Lamps."""

from __future__ import annotations

from lamp_game.rules import SIZE
from ragen_envs.core.budget import Budget

NAMES = tuple(str(number) for number in range(1, SIZE + 1))
"""The actions: the numbers of the lamps."""


def rules(budget: Budget) -> str:
    """Return the rules."""
    return (
        f"There is a row of {SIZE} lamps, numbered 1 to {SIZE} from the left. Pressing a lamp "
        "switches it and its neighbours: lit lamps go off, the others on. Switch all lamps off.\n"
        "In the row, * is a lit lamp and . is one that is off.\n"
        f"Actions: the number of a lamp, up to {budget.max_actions_per_turn} a turn. You have "
        f"{budget.max_turns} turns and {budget.max_actions} actions in all."
    )


def render(state: int) -> str:
    """Return the row, lamp 1 first."""
    return "".join("*" if state >> lamp & 1 else "." for lamp in range(SIZE))
