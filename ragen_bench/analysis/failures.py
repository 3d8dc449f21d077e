"""The failure label of an episode, and the turn that caused the failure.

The label is the first of these that applies:

1. `given_up`, `context_overflow`;
2. a decisive failure of the game, such as a box that can no longer reach a target;
3. if at least half of the turns ran no action, the most frequent reason of `gave_nothing`,
   `cut_off`, `broken_format`, `illegal_action` and `filtered`, in this order for ties;
4. `no_op_loop`, then `revisited_states`;
5. the game's default failure, when the budget ran out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_bench.environments import find_class
from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.core.game_spec import GameSpec, import_attribute
from ragen_envs.registration import all_games, find_game, is_registered

COMMON = {
    "given_up": "The server of a model failed, and the run counts such episodes as failures.",
    "context_overflow": "The conversation outgrew the model's context before the game ended.",
    "gave_nothing": "At least half of the turns came to nothing, mostly as the answer was empty.",
    "cut_off": "At least half of the turns came to nothing, mostly as the answer reached its token "
    "limit before it had the form.",
    "broken_format": "At least half of the turns came to nothing, mostly as the answer lacked the "
    "form.",
    "illegal_action": "At least half of the turns came to nothing, mostly as the answer named no "
    "known action.",
    "filtered": "At least half of the turns came to nothing, mostly as the provider's filter or "
    "the model's refusal ended the answer.",
    "no_op_loop": "Two turns in a row ran actions and changed nothing.",
    "revisited_states": "A turn led back to a state that an earlier turn, or itself, began with.",
    "out_of_budget": "Turns or actions ran out; from this turn on no play could have won in time.",
}
_NOTHING = ("gave_nothing", "cut_off", "broken_format", "illegal_action", "filtered")
EXTERNAL_LABELS = {
    "lost": "The environment ended the episode without success.",
    "out_of_turns": "The turns ran out before the episode was a success.",
}
"""The labels of an environment without a `GameSpec`."""


class ExternalFailures(FailureLabeler):
    """Labels episodes of an environment without a `GameSpec`, by how they ended."""

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return whether the environment or the number of turns ended the episode."""
        ended = episode.steps[-1].terminated
        return Failure("lost" if ended else "out_of_turns", len(episode.steps))


def find_labeler(env: str) -> FailureLabeler:
    """Return the failure labeler of an environment, or raise KeyError as `find_class` does."""
    game = _find_game(env)
    if game is None:
        return ExternalFailures()
    labeler: FailureLabeler = import_attribute(game.labeler)()
    return labeler


def find_labels(env: str) -> Mapping[str, str]:
    """Return the failure labels of an environment, each with a sentence; common ones first."""
    game = _find_game(env)
    return {**COMMON, **(game.labels if game else EXTERNAL_LABELS)}


def _find_game(env: str) -> GameSpec | None:
    if is_registered(env):
        return find_game(env)
    # An external environment may be another variant of a registered game.
    name = find_class(env).game
    return next((game for game in all_games() if game.name == name), None)


def find_failure(episode: ReplayedEpisode) -> Failure | None:
    """Return the cause of an episode's failure, by the rules in the docstring of the module.

    None if it succeeded, or if a third-party environment does not report success.
    """
    if episode.record.success in (True, None):
        return None
    if (outcome := episode.record.outcome) in ("context_overflow", "given_up"):
        return Failure(outcome, len(episode.steps) + 1)
    labeler = find_labeler(episode.record.env)
    if failure := labeler.find_decisive_failure(episode) or _find_idle_failure(episode):
        return failure
    excused = labeler.find_excused_turns(episode)
    return (
        _find_no_op_loop(episode, excused)
        or _find_revisited_state(episode, excused)
        or labeler.find_default_failure(episode)
    )


def _find_idle_failure(episode: ReplayedEpisode) -> Failure | None:
    """Return the most frequent reason if at least half of the turns ran no action."""
    reasons = [_find_idle_reason(step) for step in episode.steps]
    counts = {reason: reasons.count(reason) for reason in _NOTHING}
    idle = sum(counts.values())
    if not idle or 2 * idle < len(reasons):
        return None
    commonest = max(_NOTHING, key=lambda reason: counts[reason])
    return Failure(commonest, reasons.index(commonest) + 1)


def _find_idle_reason(step: ReplayedTurn) -> str | None:
    """Return the reason why a turn ran no action; None if it ran one."""
    if step.actions:
        return None
    if step.turn.finish == "filtered":
        return "filtered"
    if not step.turn.answer.strip():
        return "gave_nothing"
    if step.turn.format_is_valid is None and step.turn.finish != "length":
        return None  # a third-party environment that does not report it
    if step.turn.format_is_valid:
        return "illegal_action"
    return "cut_off" if step.turn.finish == "length" else "broken_format"


def _find_no_op_loop(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first of two consecutive turns whose actions had no effect.

    Excused turns are those with a correct choice and an unlucky outcome, by their numbers.
    """
    idle = [
        bool(step.actions) and step.turn.action_is_effective is False and step.number not in excused
        for step in episode.steps
    ]
    for number, pair in enumerate(pairwise(idle), start=1):
        if all(pair):
            return Failure("no_op_loop", number)
    return None


def _find_revisited_state(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first turn that led back to a state at the start of this or an earlier turn."""
    seen = set()
    for step in episode.steps:
        seen.add(step.before)
        moved = step.turn.action_is_effective and step.number not in excused
        if moved and step.after in seen:
            return Failure("revisited_states", step.number)
    return None
