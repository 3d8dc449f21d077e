"""FrozenLake: failures by bad choices, and failures by the slips of the ice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.core.scene import Scene
from ragen_envs.core.sums import sum_in_order
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_envs.games.frozen_lake.rules import ACTIONS, Lake
from ragen_envs.games.frozen_lake.solver import solver

_TIE = 1e-9
"""Chances of success closer than this count as equal."""


class FrozenLakeFailures(FailureLabeler):
    """Judges a turn's plan by its exact chance of success; a state is the player's square."""

    def read_state(self, env: FrozenLakeEnv) -> Hashable:
        return env.position

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the turn that ended in a hole, or the last turn if only slips used up the budget.

        A fall does not count if the budget could no longer reach the goal: then every plan is best.
        """
        best = self.find_excused_turns(episode)
        last = episode.steps[-1]
        if episode.instance.map[last.after] == "H" and _best_chance(episode, last) > _TIE:
            lucky = "fell_unlucky" if last.number in best else "fell_bad_choice"
            return Failure(lucky, last.number)
        if len(best) == len(episode.steps):
            return Failure("budget_unlucky", last.number)
        return None

    def find_excused_turns(self, episode: FinishedEpisode) -> set[int]:
        """Return the turns whose plan, as far as it ran, was optimal; idling is not a plan."""
        return {
            step.number
            for step in episode.steps
            if step.actions and chance_of(episode, step) >= _best_chance(episode, step) - _TIE
        }

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn whose plan was not optimal."""
        best = self.find_excused_turns(episode)
        first = next(step.number for step in episode.steps if step.number not in best)
        return Failure("out_of_budget", first)

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        return ACTIONS

    def build_scene(self, episode: FinishedEpisode, state: Any) -> Scene:
        lake: Lake = episode.instance
        places = {"me": {divmod(state, lake.stride)}, "goal": set(), "hole": set()}
        for square, letter in enumerate(lake.map):
            if letter in "GH":
                places["goal" if letter == "G" else "hole"].add(divmod(square, lake.stride))
        return Scene(
            {name: frozenset(squares) for name, squares in places.items()},
            corners=(0, lake.map.count("\n"), 0, lake.stride - 2),
            coordinates=episode.env.variant.coordinates,
        )


def _best_chance(episode: FinishedEpisode, step: FinishedTurn) -> float:
    env = episode.env
    best = solver(episode.instance, env.variant.slip, env.budget)
    return best.success_rate(step.before, step.turns_left, step.actions_left)


def chance_of(episode: FinishedEpisode, step: FinishedTurn) -> float:
    """Return the chance of success after a turn's actions, followed by the best play.

    If the turn ended the game, the best play may continue within it.
    """
    where = {step.before: 1.0}
    for name in step.actions:
        where = _move_belief(episode, where, ACTIONS.index(name))
    ended = episode.instance.map[step.after] in "HG"
    most = min(episode.env.budget.max_actions_per_turn, step.actions_left) if ended else 0
    return _best_after(episode, step, where, len(step.actions), most)


def _best_after(
    episode: FinishedEpisode, step: FinishedTurn, where: dict[int, float], done: int, most: int
) -> float:
    """Return the best chance from a belief, with up to `most` actions in the turn."""
    env = episode.env
    best = solver(episode.instance, env.variant.slip, env.budget)
    left = step.turns_left - 1, step.actions_left - done
    chances = [
        sum_in_order(odds * best.success_rate(square, *left) for square, odds in where.items())
    ]
    if done < most:
        for action in range(len(ACTIONS)):
            further = _move_belief(episode, where, action)
            chances.append(_best_after(episode, step, further, done + 1, most))
    return max(chances)


def _move_belief(
    episode: FinishedEpisode, where: dict[int, float], action: int
) -> dict[int, float]:
    """Return the probability of each square after one more action; holes and goal are absorbing."""
    slip = episode.env.variant.slip
    lake: Lake = episode.instance
    beside: dict[int, float] = {}
    for square, odds in where.items():
        has_ended = lake.map[square] in "HG"
        for aside in slip.turns:
            landing = square if has_ended else lake.neighbours[square][(action + aside) % 4]
            beside[landing] = beside.get(landing, 0.0) + odds / slip.total
    return beside
