"""The messages of the protocol: action, observation and state of a text environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openenv.core.env_server import Action, Observation, State
from pydantic import Field
from typing_extensions import TypedDict


class TextAction(Action):  # type: ignore[misc]  # which has no types
    """A model's whole response."""

    message: str = Field(description="The player's whole response")


class TextInfo(TypedDict, total=False):
    """Information next to the text; each key is present if the environment has it."""

    legal_actions: list[str]
    turn: int
    actions_left: int
    format_is_valid: bool
    action_is_valid: bool
    action_is_effective: bool
    success: bool
    score: float


class TextObservation(Observation):  # type: ignore[misc]  # which has no types
    """The next observation, and the result of the response."""

    text: str = Field(description="The next observation")
    terminated: bool = Field(default=False, description="Whether the rules ended the episode")
    truncated: bool = Field(default=False, description="Whether the budget ended it")
    info: TextInfo = Field(
        default_factory=TextInfo,
        description="Legal actions, flags of the response; success and score at the end only",
    )


class TextState(State):  # type: ignore[misc]  # which has no types
    """The state of a session, without the instance's content."""

    env: str = Field(description="The environment's id")
    split: str | None = Field(default=None, description="Split of the instance")
    seed: int | None = Field(
        default=None, description="Index of the instance in the split; None in the sealed split"
    )
    noise_seed: int | None = Field(default=None, description="Noise seed")
    response_format: str = Field(description="Format of the responses")
    done: bool = Field(default=False, description="Whether the episode is over")
    total_reward: float = Field(default=0.0, description="The sum of the rewards so far")
    success: bool | None = Field(
        default=None, description="Whether the episode was a success, at its end"
    )


def make_text_info(info: Mapping[str, Any]) -> TextInfo:
    """Return an episode's `info` in plain types; values of other types are left out."""
    found: dict[str, Any] = {}
    for name, value in info.items():
        try:
            found[_RENAMED.get(name, name)] = _PLAIN[name](value)
        except (TypeError, ValueError):
            continue
    return found  # type: ignore[return-value]  # its keys are those of `_PLAIN`


def _texts(values: Any) -> list[str]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError("not texts")
    return list(values)


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "legal_actions": _texts,
    "turn": int,
    "actions_left": int,
    "format_is_valid": bool,
    "action_is_valid": bool,
    "action_is_effective": bool,
    "success": bool,
    "is_success": bool,
    "score": float,
}
_RENAMED = {"is_success": "success"}
