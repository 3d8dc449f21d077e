"""Types for your own agents, `python:MODULE:ATTRIBUTE`: their turns and their answers.

An agent is a function of a list of messages, or a class like `Agent` with one object per episode.
Functions and `act` may be `async def`. The types are plain data: they reveal neither the noise nor
the instance's content nor the best actions.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import MAX_TOKENS, Message
from ragen_envs.core.protocol import ResponseFormat

__all__ = ["Agent", "Answer", "EpisodeStart", "Message", "Turn"]


@dataclass(frozen=True)
class EpisodeStart:
    """A new episode.

    Attributes:
        environment: Id of the environment, such as "ragen/Sokoban-v0".
        instance: Number of the instance in the run, from 0.
        sample: Number of the episode on this instance, from 0.
        response_format: Format of answers, written by `ragen_envs.core.protocol.format_answer`.
    """

    environment: str
    instance: int
    sample: int
    response_format: ResponseFormat


@dataclass(frozen=True)
class Turn:
    """The turn to answer.

    Attributes:
        number: Number of the turn in its episode, from 0.
        legal_actions: Legal actions of a list; empty if the environment lists none.
        action_schema: JSON schema of the list of actions in an answer, an array of strings. It
            includes free-text actions.
    """

    number: int
    legal_actions: tuple[str, ...]
    action_schema: JsonObject


@dataclass(frozen=True)
class Answer:
    """An answer with details for the record.

    Attributes:
        text: Text for the environment.
        reasoning: Thoughts outside the text; only with `--format answer` or `plain`.
        prompt_tokens: Tokens read for it, in all calls of a model.
        completion_tokens: Tokens sampled for it, in all calls of a model.

    Raises:
        TypeError: A text is not a str, or a count not an int.
        ValueError: A count is below 0, or above that of any model.
    """

    text: str
    reasoning: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("text", "reasoning"):
            if not isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name} of an Answer is a str, got {value!r}")
        for name in ("prompt_tokens", "completion_tokens"):
            if type(value := getattr(self, name)) is not int:
                raise TypeError(f"{name} of an Answer is an int, got {value!r}")
            if not 0 <= value < MAX_TOKENS:
                bound = "below 10^12" if value > 0 else f"at least 0, got {value}"
                raise ValueError(f"{name} of an Answer is {bound}")


class Agent(Protocol):
    """The interface of a class whose objects play one episode each, made without arguments.

    If `act` is `async def`, `reset` may be too, and `--concurrency` episodes are played at once, in
    one thread on one event loop. Otherwise episodes are played one after the other.
    """

    def reset(self, episode: EpisodeStart) -> Awaitable[None] | None:
        """Begin the only episode of this object."""
        ...

    def act(self, messages: list[Message], turn: Turn) -> Awaitable[str | Answer] | str | Answer:
        """Return the answer to a conversation that ends with the latest observation."""
        ...
