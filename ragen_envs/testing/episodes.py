"""Records of played episodes, whole or broken off: what was answered, and what came back."""

from __future__ import annotations

from typing import Any, NamedTuple

from ragen_envs.testing.freeze import Parts


class PlayedStep(NamedTuple):
    """What a reset (with reward 0.0 and no flag) or a step returned.

    Attributes:
        info: a shallow copy of what was returned.
        parts: all five values as they were then, frozen for comparison.
    """

    observation: str
    reward: Any
    terminated: Any
    truncated: Any
    info: dict[str, Any]
    parts: Parts

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return bool(self.terminated or self.truncated)


class PlayedEpisode(NamedTuple):
    """An episode, or its beginning.

    Attributes:
        seed: what it was reset with.
        options: the other argument of `reset`.
        answers: what was answered, one a turn.
        steps: what came back: the reset, then one step for each answer.
    """

    seed: int
    options: dict[str, Any] | None
    answers: tuple[str, ...]
    steps: tuple[PlayedStep, ...]

    @property
    def parts(self) -> tuple[Parts, ...]:
        """The frozen steps."""
        return tuple(step.parts for step in self.steps)
