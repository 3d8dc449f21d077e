"""Checks of steps, and the spaces of environments that third-party code runs."""

from __future__ import annotations

from typing import Any

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

_OBSERVATION = 1 << 20
"""Maximum characters of an observation."""
_ACTION = 4096
"""Maximum characters of a sampled action; `step` takes any length."""


class AnyText(Text):
    """Gymnasium's `Text` without a charset, since third-party texts may use any characters."""

    def contains(self, x: Any) -> bool:
        """Whether something is a str that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


def observations() -> AnyText:
    """Return the space of observations."""
    return AnyText(_OBSERVATION, min_length=0)


def actions() -> AnyText:
    """Return the space of responses."""
    return AnyText(_ACTION, min_length=0)


def check_step(action: Any, running: bool) -> None:
    """Check a step before the environment sees it.

    Raises:
        ResetNeeded: No episode is running.
        TypeError: The response is not a str.
    """
    if not isinstance(action, str):
        raise TypeError(f"a response must be a str, got {type(action).__name__}")
    if not running:
        raise ResetNeeded("the episode is over or never began: call reset() first")


def sendable(response: str) -> str:
    """Replace lone surrogates, which JSON in UTF-8 cannot contain, by "?"."""
    return response.encode(errors="replace").decode()
