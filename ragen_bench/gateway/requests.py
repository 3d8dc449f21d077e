"""Requests to the gateway, read from JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter

from ragen_bench.episodes.episode import SAMPLES_A_SEED
from ragen_bench.pages.local_server import RefusedError
from ragen_bench.runs.checked import BadRecordError, read_record
from ragen_bench.runs.schema import Index, Text

T = TypeVar("T")
NoiseSeed = Annotated[int, Strict(), Field(ge=0, lt=SAMPLES_A_SEED)]


class PlayRequest(BaseModel):
    """One episode to play through a base URL.

    Attributes:
        instance: Index of the instance.
        base_url: URL of a server with OpenAI's protocol.
        model: Name of the model there.
        api_key: Key of that server, and of `reward_url`.
        noise_seed: Seed of the noise; by default the smallest one that no episode of the instance
            has, or that of the id's episode that failed.
        id: Name of the episode, which counts once; by default `reward_url`, or a new one.
        reward_url: URL to post the reward to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    instance: Index
    base_url: Text
    model: Text = "auto"
    api_key: Text = ""
    noise_seed: NoiseSeed | None = None
    id: Annotated[Text, Field(max_length=500)] = ""
    reward_url: Text = ""


class TextPart(BaseModel):
    """A part of a message."""

    type: Literal["text"]
    text: Text


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: Text
    content: Text | list[TextPart] | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class ChatRequest(BaseModel):
    """A request of OpenAI's chat protocol; other fields are ignored."""

    model: Text
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = False

    @property
    def replies(self) -> int:
        """Number of the game's replies in the conversation."""
        return sum(message.role == "assistant" for message in self.messages)


def refuse(reason: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> RefusedError:
    """Return a refusal in the form of OpenAI's protocol."""
    return RefusedError(status, reason, error={"message": reason, "type": "invalid_request_error"})


def _read(read: Callable[[object], T], message: object) -> T:
    try:
        return read_record(read, message)
    except BadRecordError as error:
        raise refuse(f"the request {error}") from None


read_play = partial(_read, TypeAdapter(PlayRequest).validate_python)
read_chat = partial(_read, TypeAdapter(ChatRequest).validate_python)
"""Readers of requests; they raise a RefusedError."""
