"""Failures: the rules by which an episode gets one label, and the turn that it is due to.

An episode that succeeded has none. The others have the first of these that fits:

1. `context_overflow`;
2. what its game calls decisive, such as a box that can no longer be brought to a target;
3. if at least half of the turns came to nothing: the commonest reason of `gave_nothing`, `cut_off`,
   `broken_format` and `illegal_action`, the first of equally common ones;
4. `no_op_loop`, then `revisited_states`;
5. what its game says of the rest, which ran out of budget.
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


def came_to_nothing(step: ReplayedTurn) -> str | None:
    """Return why a turn ran no action, or None if it ran one."""
    if step.actions:
        return None
    if not step.turn.answer.strip():
        return "gave_nothing"
    if step.turn.format_is_valid is None and step.turn.finish != "length":
        return None  # another package's environment, which does not tell
    if step.turn.format_is_valid:
        return "illegal_action"
    return "cut_off" if step.turn.finish == "length" else "broken_format"


def mostly_nothing(episode: ReplayedEpisode) -> Failure | None:
    """Return the commonest reason if at least half of the turns came to nothing."""
    reasons = [came_to_nothing(step) for step in episode.steps]
    counts = {reason: reasons.count(reason) for reason in _NOTHING}
    if 2 * sum(counts.values()) < len(reasons):
        return None
    if not any(counts.values()):
        return None
    commonest = max(_NOTHING, key=lambda reason: counts[reason])
    return Failure(commonest, reasons.index(commonest) + 1)


def no_op_loop(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first of two turns in a row that ran actions and changed nothing.

    Args:
        episode: the episode.
        excused: the numbers of turns whose choice was right and whose outcome was bad luck.
    """
    idle = [
        bool(step.actions) and step.turn.action_is_effective is False and step.number not in excused
        for step in episode.steps
    ]
    for number, pair in enumerate(pairwise(idle), start=1):
        if all(pair):
            return Failure("no_op_loop", number)
    return None


def revisited(episode: ReplayedEpisode, excused: Collection[int]) -> Failure | None:
    """Return the first turn whose moves led back to a state that a turn so far began with.

    Args:
        episode: the episode.
        excused: the numbers of turns whose choice was right and whose outcome was bad luck.
    """
    seen = set()
    for step in episode.steps:
        seen.add(step.before)
        moved = step.turn.action_is_effective and step.number not in excused
        if moved and step.after in seen:
            return Failure("revisited_states", step.number)
    return None
