"""Mastermind: guesses that gave chances away, and codes that were bad luck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_envs.games.mastermind.rules import Codes, all_codes
from ragen_envs.games.mastermind.solver import solver


class MastermindReading(Reading):
    """Reads episodes of Mastermind; a state is the set of codes that agree with all answers.

    A guess is judged by what was known when it was made, not by the code: by the exact chance of
    success with the best play after it, see `ragen_envs.games.mastermind.solver`.
    """

    labels = {
        "contradicted_answers": "This was the first guess with a lower chance of success than the "
        "best one, and it disagreed with an answer before it.",
        "weak_guess": "This was the first guess with a lower chance of success than the best one, "
        "though it agreed with all answers before it.",
        "unlucky_code": "Every guess was a best one, and this was the last of them.",
        "out_of_budget": "Turns ran out; this was the first one that lowered the chance of "
        "success, as it made no guess.",
    }

    def state(self, env: Any) -> Hashable:
        """Return the possible codes."""
        possible: int = env.possible
        return possible

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return the first turn that lowered the chance of success, or the bad luck of the last."""
        every = all_codes(episode.instance.pegs)
        for step in episode.steps:
            if cause := _cause(every, step):
                return Failure(cause, step.number)
        return Failure("unlucky_code", len(episode.steps))

    def actions(self, episode: ReplayedEpisode) -> Sequence[str]:
        """Return the names of all codes."""
        return all_codes(episode.instance.pegs).names


def _cause(every: Codes, step: ReplayedTurn) -> str | None:
    """Return what lowered the chance of success in a turn, None if nothing did."""
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
