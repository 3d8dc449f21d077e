"""The interface shared by all players."""

from __future__ import annotations

from typing import Protocol

from ragen_envs.core.protocol import AnswerFormat, FreeText


class Player(Protocol):
    """A player whose turn it is; every `TextEnv` is one."""

    @property
    def response_format(self) -> AnswerFormat:
        """Format of the responses."""
        ...

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """Names of the legal actions; empty after the end."""
        ...

    @property
    def free_text(self) -> FreeText | None:
        """The free-text action that is legal now, if there is one."""
        ...

    @property
    def actions_this_turn(self) -> int:
        """Maximum number of actions in this turn."""
        ...

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle takes in this turn."""
        ...
