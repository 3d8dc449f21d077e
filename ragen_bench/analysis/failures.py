"""Rules that give a failed episode one label and the turn that caused the failure.

The label is the first of these that applies:

1. `context_overflow`;
2. a decisive failure of the game, such as a box that can no longer reach a target;
3. if at least half of the turns ran no action, the most frequent reason of `gave_nothing`,
   `cut_off`, `broken_format` and `illegal_action`, in this order for ties;
4. `no_op_loop`, then `revisited_states`;
5. the game's default failure, when the budget ran out.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn
from ragen_envs.core.failures import Failure

COMMON = {
    "context_overflow": "The conversation outgrew the model's context before the game ended.",
    "gave_nothing": "At least half of the turns came to nothing, mostly as the answer was empty.",
    "cut_off": "At least half of the turns came to nothing, mostly as the answer reached its token "
    "limit before it had the form.",
    "broken_format": "At least half of the turns came to nothing, mostly as the answer lacked the "
    "form.",
    "illegal_action": "At least half of the turns came to nothing, mostly as the answer named no "
    "known action.",
    "no_op_loop": "Two turns in a row ran actions and changed nothing.",
    "revisited_states": "A turn led back to a state that an earlier turn, or itself, began with.",
    "out_of_budget": "Turns or actions ran out; from this turn on no play could have won in time.",
}
_NOTHING = ("gave_nothing", "cut_off", "broken_format", "illegal_action")


def find_idle_reason(step: ReplayedTurn) -> str | None:
    """Return the reason why a turn ran no action; None if it ran one."""
    if step.actions:
        return None
    if not step.turn.answer.strip():
        return "gave_nothing"
    if step.turn.format_is_valid is None and step.turn.finish != "length":
        return None  # a third-party environment that does not report it
    if step.turn.format_is_valid:
        return "illegal_action"
    return "cut_off" if step.turn.finish == "length" else "broken_format"


def find_idle_failure(episode: ReplayedEpisode) -> Failure | None:
    """Return the most frequent reason if at least half of the turns ran no action."""
    reasons = [find_idle_reason(step) for step in episode.steps]
    counts = {reason: reasons.count(reason) for reason in _NOTHING}
    if 2 * sum(counts.values()) < len(reasons):
        return None
    if not any(counts.values()):
        return None
    commonest = max(_NOTHING, key=lambda reason: counts[reason])
    return Failure(commonest, reasons.index(commonest) + 1)


def find_no_op_loop(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first of two consecutive turns whose actions had no effect.

    Args:
        episode: The episode.
        excused: Numbers of turns with a correct choice and an unlucky outcome.
    """
    idle = [
        bool(step.actions) and step.turn.action_is_effective is False and step.number not in excused
        for step in episode.steps
    ]
    for number, pair in enumerate(pairwise(idle), start=1):
        if all(pair):
            return Failure("no_op_loop", number)
    return None


def find_revisited_state(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first turn that led back to a state at the start of this or an earlier turn.

    Args:
        episode: The episode.
        excused: Numbers of turns with a correct choice and an unlucky outcome.
    """
    seen = set()
    for step in episode.steps:
        seen.add(step.before)
        moved = step.turn.action_is_effective and step.number not in excused
        if moved and step.after in seen:
            return Failure("revisited_states", step.number)
    return None
