"""The protocol that every model follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from ragen_envs.text_env import TextEnv


class Message(TypedDict):
    """One message of a conversation, as chat templates take them."""

    role: str
    content: str


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled.

    Attributes:
        temperature: 0 for the likeliest token always.
        max_tokens: tokens in one answer at most.
        stop: generation ends after this text, which stays part of the answer.
        seed: with the request's key it decides every random choice.
    """

    temperature: float
    max_tokens: int
    stop: str
    seed: int


@dataclass(frozen=True)
class Request:
    """One answer that is asked for.

    Attributes:
        messages: the conversation, ending with the user.
        key: names environment, split, instance, sample and turn; no two requests of a run share it.
        env: the environment itself, for scripted players that may look behind the text.
    """

    messages: Sequence[Message]
    key: str
    env: TextEnv[Any, Any]


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the whole answer.
        prompt_tokens: tokens that the model read; 0 for what has no tokens.
        completion_tokens: tokens that were sampled, the end-of-turn token included.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Model(Protocol):
    """Answers conversations."""

    @property
    def batch_size(self) -> int:
        """How many requests it likes to get at once."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this model from another of the same name, for the record."""
        ...

    def probe(self) -> str:
        """Return where the model runs, in a few words.

        Raises:
            UserError: if it is not there, with what to do.
        """
        ...

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request, in order."""
        ...
