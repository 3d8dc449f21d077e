"""Types for agents of your own, `python:MODULE:ATTRIBUTE`: their turns and their answers.

An agent is a function that takes a list of messages, or a class as `Agent` describes it, of which
every episode has an object of its own. Functions and `act` may be `async def`. All of this is plain
data: nothing that decides the noise, names the instance's content or knows the best actions.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol

from ragen_bench.models.base import Message
from ragen_envs.core.protocol import ResponseFormat

__all__ = ["Agent", "Answer", "EpisodeStart", "Message", "Turn"]


@dataclass(frozen=True)
class EpisodeStart:
    """The episode that begins.

    Attributes:
        environment: its id, such as "ragen/Sokoban-v0".
        instance: the number of the instance within the run, from 0 on.
        sample: which of several episodes on the same instance, from 0 on.
        response_format: the form of answers; `ragen_envs.core.protocol.format_answer` writes them.
    """

    environment: str
    instance: int
    sample: int
    response_format: ResponseFormat


@dataclass(frozen=True)
class Turn:
    """The turn that an answer is asked for.

    Attributes:
        number: of the turn in its episode, from 0 on.
        legal_actions: the listed actions that may be answered now; empty where none are listed.
        action_schema: a JSON schema of the list of actions that an answer may name now, an array of
            strings; it knows actions in words of one's own too, where there are any.
    """

    number: int
    legal_actions: tuple[str, ...]
    action_schema: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """An answer with what is recorded beside it.

    Attributes:
        text: what the environment reads.
        reasoning: thoughts, which are not part of it; only with `--format answer` or `plain`.
        prompt_tokens: tokens that were read for it, in all calls of a model together.
        completion_tokens: tokens that were sampled for it, in all calls together.

    Raises:
        TypeError: if a text is not a str, or a count not an int.
        ValueError: if a count is below 0.
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
            if value < 0:
                raise ValueError(f"{name} of an Answer is at least 0, got {value}")


class Agent(Protocol):
    """What a class has that plays one episode; it is made without arguments.

    If `act` is `async def`, `reset` may be so too, and `--concurrency` episodes are played at once;
    all run in one thread, on one event loop. Otherwise episodes are played one after the other.
    """

    def reset(self, episode: EpisodeStart) -> Awaitable[None] | None:
        """Begin the only episode of this object."""
        ...

    def act(self, messages: list[Message], turn: Turn) -> Awaitable[str | Answer] | str | Answer:
        """Return the answer to a conversation, which ends with the latest observation."""
        ...
