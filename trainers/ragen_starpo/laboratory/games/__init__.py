"""The laboratory's games by name."""

from __future__ import annotations

from fractions import Fraction

from ragen_envs.core.budget import Budget
from ragen_envs.games.frozen_lake.rules import Slip
from ragen_starpo.laboratory.games.bandits import BanditGame, MultiPullGame
from ragen_starpo.laboratory.games.game import AnyGame
from ragen_starpo.laboratory.games.lake import LakeGame
from ragen_starpo.laboratory.games.mastermind import MastermindGame
from ragen_starpo.laboratory.games.sokoban import SokobanGame
from ragen_starpo.studies.definition import Task


def find_game(task: Task, *, test: bool = False) -> AnyGame:
    """Return the game of a task, or that which its last model is tested on."""
    size = int(task.test[0]) if test and task.test else task.size
    if task.game == "lake":
        turns, per_turn = (3 if task.size == 3 else 5), task.actions_per_turn or 2
        return LakeGame(size, find_slip(task.slip), Budget(turns, per_turn, turns * 2))
    if task.game == "sokoban":
        return SokobanGame(size, Budget(4, task.actions_per_turn or 3, 10))
    if task.game == "multi-pull":
        return MultiPullGame()
    if task.game == "mastermind":
        return MastermindGame()
    return BanditGame(is_reversed=task.game == "bandit-rev")


def find_slip(chance: float) -> Slip:
    """Return the slip with this chance of a step aside, rounded to a fraction of thousandths."""
    fraction = Fraction(chance).limit_denominator(1000)
    aside = fraction.numerator
    # A step goes aside to each of two sides with these odds.
    return Slip(2 * (fraction.denominator - aside), aside)
