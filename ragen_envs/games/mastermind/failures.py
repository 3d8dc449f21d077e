"""Mastermind: guesses that gave chances away, and codes that were bad luck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.mastermind.env import MastermindEnv
from ragen_envs.games.mastermind.rules import Codes, all_codes
from ragen_envs.games.mastermind.solver import solver


class MastermindFailures(FailureLabeler):
    """Judges guesses by their exact chance of success; a state is the set of codes left."""

    def read_state(self, env: MastermindEnv) -> Hashable:
        return env.possible

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        every = all_codes(episode.instance.pegs)
        for step in episode.steps:
            if cause := _cause(every, step):
                return Failure(cause, step.number)
        return Failure("unlucky_code", len(episode.steps))

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        return all_codes(episode.instance.pegs).names


def _cause(every: Codes, step: FinishedTurn) -> str | None:
    best = solver(every.pegs)
    codes, guesses = every.members(step.before), min(step.turns_left, step.actions_left)
    most = best.best(codes, guesses).found
    if not step.actions:
        left = best.best(codes, guesses - 1).found if guesses > 1 else 0
        return "out_of_budget" if left < most else None
    guess = every.names.index(step.actions[0])
    if best.found_after(codes, guess, guesses) == most:
        return None
    return "weak_guess" if step.before >> guess & 1 else "contradicted_answers"
