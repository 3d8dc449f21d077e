"""The feedback line: what became of an answer, as the player reads it."""

from __future__ import annotations

from ragen_envs.core.wording import counted

_CACHED = 4096
_STOPS = (".", "?", "!")
FEW = 9
"""Names up to which a turn's line is looked up in `LINES`. Looking it up hashes every name, and
lines of more, as on a shop's pages, hardly come again."""

Turn = tuple[tuple[str, ...], tuple[int, ...], int, bool, bool, float, int, int]
"""What a line tells: the names of all actions, the numbers of those that ran, how many were
dropped; whether the answer had the demanded form, and whether all actions in it were known; the
reward in hundredths; turns left and actions left."""


class Lines(dict[Turn, str]):
    """The lines told lately, by their turns; the others are written when they are asked for."""

    def __missing__(self, turn: Turn) -> str:
        if len(self) == _CACHED:
            self.clear()
        line = self[turn] = feedback(turn)
        return line


LINES = Lines()
"""Looked up in every step: a dict is twice as fast as functools.lru_cache."""


def feedback(turn: Turn) -> str:
    """Return the line that tells a player what became of an answer."""
    names, ran, dropped, format_valid, actions_valid, points, turns, actions = turn
    if not format_valid:
        done = "The answer was not in the required form, so nothing was done."
    else:
        did = ", ".join(names[i] for i in ran) or "nothing"
        # A question ends itself.
        done = f"Done: {did}" if did.endswith(_STOPS) else f"Done: {did}."
        if not actions_valid:
            done += " What is not an action was skipped."
        if dropped:
            done += f" The last {_not_run(dropped)} not run."
    budget = f"{counted(turns, 'turn')}, {counted(actions, 'action')}"
    return f"{done} Reward: {points / 100:g}. Remaining: {budget}."


def _not_run(dropped: int) -> str:
    return "action was" if dropped == 1 else f"{dropped} actions were"
