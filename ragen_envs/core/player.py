"""What everybody who answers in a game can be asked."""

from __future__ import annotations

from typing import Protocol

from ragen_envs.core.protocol import AnswerFormat, FreeText


class Player(Protocol):
    """What is known of one who is to answer now; every `TextEnv` is one, in its player's turn."""

    @property
    def response_format(self) -> AnswerFormat:
        """The form of an answer."""
        ...

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be answered now; empty after the end."""
        ...

    @property
    def free_text(self) -> FreeText | None:
        """The action in words of one's own that may be answered now, beside the listed ones."""
        ...

    @property
    def actions_this_turn(self) -> int:
        """How many actions the present turn may run."""
        ...

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle would answer with in this turn."""
        ...
