"""What Gymnasium environments of other owners' episodes have in common: spaces and early steps."""

from __future__ import annotations

from typing import Any

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

_OBSERVATION = 1 << 20
"""Characters in the longest observation."""
_ACTION = 4096
"""Characters in the longest action that the space samples; `step` takes any length."""


class AnyText(Text):
    """Gymnasium's `Text` without a charset: others may use any characters."""

    def contains(self, x: Any) -> bool:
        """Whether something is a str that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


def observations() -> AnyText:
    """Return a space of what may be read."""
    return AnyText(_OBSERVATION, min_length=0)


def actions() -> AnyText:
    """Return a space of what may be answered."""
    return AnyText(_ACTION, min_length=0)


def check_step(action: Any, running: bool) -> None:
    """Refuse a step that the owner should not see.

    Raises:
        ResetNeeded: if no episode is running.
        TypeError: if the answer is not a str.
    """
    if not isinstance(action, str):
        raise TypeError(f"an answer is a str, got {type(action).__name__}")
    if not running:
        raise ResetNeeded("the episode is over or never began: call reset() first")


def sendable(answer: str) -> str:
    """Return an answer with "?" for half a surrogate pair, which JSON of UTF-8 cannot hold."""
    return answer.encode(errors="replace").decode()
