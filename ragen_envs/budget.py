"""What an episode may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """What an episode may cost.

    The defaults are those of the multi-turn games in RAGEN (arXiv 2504.20073, section 3).

    Attributes:
        max_turns: answers in an episode.
        max_actions_per_turn: actions of one answer that are run; further ones are dropped.
        max_actions: actions in an episode.
        penalty: subtracted once for a turn whose form is broken or that names no or an unknown
            action; in hundredths, as all points are.
    """

    max_turns: int = 5
    max_actions_per_turn: int = 5
    max_actions: int = 10
    penalty: int = 10
