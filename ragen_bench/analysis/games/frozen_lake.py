"""FrozenLake: what was badly chosen, and what was the ice's doing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.scene import Scene
from ragen_bench.analysis.trajectory import State, Step, Trajectory
from ragen_envs.frozen_lake.rules import ACTIONS, Lake
from ragen_envs.frozen_lake.solver import solver

_TIE = 1e-9
"""Chances of success closer than this count as equal."""


class FrozenLakeReading(Reading):
    """Reads episodes of FrozenLake; a state is the player's square.

    A turn's actions are chosen before any of them slips, so a turn is judged as one choice: by the
    chance of success of its actions with the best play after them, against that of the best plan.
    """

    labels = {
        "fell_bad_choice": "The player fell into a hole in this turn, though another plan had the "
        "better chance of success.",
        "fell_unlucky": "The player fell into a hole in this turn, whose plan was a best one: the "
        "slips did it.",
        "budget_unlucky": "The budget ran out though every turn's plan was a best one: the slips "
        "did it.",
        "out_of_budget": "The budget ran out; this was the first turn whose plan was not a best "
        "one.",
    }

    def state(self, env: Any) -> Hashable:
        """Return the player's square."""
        position: int = env.position
        return position

    def decisive(self, episode: Trajectory) -> Failure | None:
        """Return the turn that ended in a hole, or that nothing but slips used up the budget."""
        best = self.excused(episode)
        last = episode.steps[-1]
        if episode.instance.map[last.after] == "H":
            lucky = "fell_unlucky" if last.number in best else "fell_bad_choice"
            return Failure(lucky, last.number)
        if len(best) == len(episode.steps):
            return Failure("budget_unlucky", last.number)
        return None

    def excused(self, episode: Trajectory) -> set[int]:
        """Return the turns whose plan was a best one."""
        return {step.number for step in episode.steps if _is_best(episode, step)}

    def rest(self, episode: Trajectory) -> Failure:
        """Return the first turn whose plan was not a best one."""
        best = self.excused(episode)
        first = next(step.number for step in episode.steps if step.number not in best)
        return Failure("out_of_budget", first)

    def actions(self, episode: Trajectory) -> Sequence[str]:
        """Return the four directions."""
        return ACTIONS

    def scene(self, episode: Trajectory, state: State) -> Scene:
        """Return where player, goal and holes are."""
        lake: Lake = episode.instance
        places = {"me": {divmod(state, lake.stride)}, "goal": set(), "hole": set()}
        for square, letter in enumerate(lake.map):
            if letter in "GH":
                places["goal" if letter == "G" else "hole"].add(divmod(square, lake.stride))
        return Scene(
            {name: frozenset(found) for name, found in places.items()},
            corners=(0, lake.map.count("\n"), 0, lake.stride - 2),
            coordinates=episode.env.variant.coordinates,
        )


def _is_best(episode: Trajectory, step: Step) -> bool:
    """Tell whether a turn's plan had the best chance of success; to do nothing is no plan."""
    env = episode.env
    best = solver(episode.instance, env.variant.slip, env.budget)
    chance = best.success_rate(step.before, step.turns_left, step.actions_left)
    plan = [ACTIONS.index(name) for name in step.actions]
    return bool(plan) and chance_of(episode, step, plan) >= chance - _TIE


def chance_of(episode: Trajectory, step: Step, plan: Sequence[int]) -> float:
    """Return the chance of success of a plan in a turn, with the best play after it."""
    env, lake = episode.env, episode.instance
    best = solver(lake, env.variant.slip, env.budget)
    slip = env.variant.slip
    where = {step.before: 1.0}
    for action in plan:
        beside: dict[int, float] = {}
        for square, odds in where.items():
            for landing in _landings(lake, square, action, slip.turns):
                beside[landing] = beside.get(landing, 0.0) + odds / slip.total
        where = beside
    left = step.turns_left - 1, step.actions_left - len(plan)
    return sum(odds * best.success_rate(square, *left) for square, odds in where.items())


def _landings(lake: Lake, square: int, action: int, turns: Sequence[int]) -> list[int]:
    """Return where each roll takes the player; who fell or arrived stays there."""
    if lake.map[square] in "HG":
        return [square] * len(turns)
    return [lake.neighbours[square][(action + aside) % 4] for aside in turns]
