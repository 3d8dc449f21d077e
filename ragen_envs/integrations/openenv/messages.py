"""What goes over the wire: the action, the observation and the state of a text environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openenv.core.env_server import Action, Observation, State
from pydantic import Field
from typing_extensions import TypedDict


class TextAction(Action):  # type: ignore[misc]  # which has no types
    """A whole answer, as a model gives it."""

    message: str = Field(description="The whole answer of the player")


class Told(TypedDict, total=False):
    """What a player may know besides the text; each key is there if the environment has it."""

    legal_actions: list[str]
    turn: int
    actions_left: int
    format_is_valid: bool
    action_is_valid: bool
    action_is_effective: bool
    success: bool
    score: float


class TextObservation(Observation):  # type: ignore[misc]  # which has no types
    """What the player reads next, and what became of the answer."""

    text: str = Field(description="What the player reads next")
    terminated: bool = Field(default=False, description="Whether the rules ended the episode")
    truncated: bool = Field(default=False, description="Whether its budget did")
    info: Told = Field(
        default_factory=Told,
        description="Legal actions, flags of the answer; success and score at the end alone",
    )


class TextState(State):  # type: ignore[misc]  # which has no types
    """Where a session stands; nothing in it tells the instance."""

    env: str = Field(description="The environment's id")
    split: str | None = Field(default=None, description="Where the instance comes from")
    seed: int | None = Field(
        default=None, description="Which instance of the split; never told of a sealed one"
    )
    noise_seed: int | None = Field(default=None, description="Which course of noise")
    response_format: str = Field(description="The form of the answers")
    done: bool = Field(default=False, description="Whether the episode is over")
    total_reward: float = Field(default=0.0, description="The sum of the rewards so far")
    success: bool | None = Field(
        default=None, description="Whether the episode was a success, at its end"
    )


def told(info: Mapping[str, Any]) -> Told:
    """Return what an episode's `info` tells, as plain values.

    What another package's environment has there in another type is left out.
    """
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
