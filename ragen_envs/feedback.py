"""The line that tells a player what became of an answer."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def feedback(
    format_valid: bool,
    actions_valid: bool,
    did: tuple[tuple[str, ...], tuple[int, ...], int],
    reward: float,
    turns: int,
    actions: int,
) -> str:
    """Return the line that tells a player what became of an answer.

    Args:
        format_valid: whether the answer had the demanded form.
        actions_valid: whether all actions in it were known.
        did: the names of all actions, the numbers of those that ran, and how many were dropped.
        reward: the turn's reward.
        turns: turns left.
        actions: actions left.
    """
    names, ran, dropped = did
    if not format_valid:
        done = "The answer was not in the required form, so nothing was done."
    else:
        done = f"Done: {', '.join(names[i] for i in ran) or 'nothing'}."
        if not actions_valid:
            done += " What is not an action was skipped."
        if dropped:
            done += f" The last {dropped} not run."
    return f"{done} Reward: {reward:g}. Left: {turns} turns, {actions} actions."
