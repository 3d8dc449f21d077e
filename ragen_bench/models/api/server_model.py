"""The base class of models on a server: asked over the network, many requests at once."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.api.dialects import PLAIN, Dialect, find_dialect, read_context
from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.api.options import ServerKey, ServerOptions
from ragen_bench.models.api.request import RequestSender, ServerTarget
from ragen_bench.models.async_engine import AsyncEngine, BackgroundLoop
from ragen_bench.models.base import Engine, Message, Sampling

_IDENTITY_FIELDS = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""Fields of a server's entry that do not change when it is restarted."""


class ServerModel(ABC):
    """Asks a server, many requests at once.

    Args:
        name: The server's name of the model.
        options: Connection options.
        url: Base URL.
        key: The server's secrets.
    """

    def __init__(self, name: str, options: ServerOptions, url: str, key: ServerKey) -> None:
        self._name, self._options, self._url = name, options, url
        secrets = {word for _, value in options.headers for word in value.split()}
        # A header may name the model, and the list of models then names it too.
        self._key = key._replace(others=tuple(sorted(secrets - {name})))
        self._extra = json.loads(options.extra_body or "{}")
        self._loop = BackgroundLoop()
        self._entry: Mapping[str, Any] | None = None
        self._refused: frozenset[str] | None = None
        self._refusal_notes: list[str] = []

    @abstractmethod
    async def _find_entry(self) -> Mapping[str, Any]:
        """Return the server's entry of the model; empty if it lists no models."""

    @abstractmethod
    async def _send(
        self, messages: Sequence[Message], settings: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> str:
        """Send one request and return the response in OpenAI's protocol.

        Args:
            messages: The conversation.
            settings: Sampling settings, by their names in OpenAI's protocol.
            fields: Extra fields of the request.

        Raises:
            RetryableError: Another try may succeed.
            ContextError: The conversation is too long.
            UserError: The server refuses this request.
        """

    @property
    def slots(self) -> int:
        """Number of requests in flight."""
        return self._options.concurrency

    @property
    def group_size(self) -> int:
        """1: other requests at the server are beyond our control."""
        return 1

    @property
    def context(self) -> int | None:
        """Context length of the model in tokens, if the server reports it."""
        return read_context(self._known_entry())

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the model is asked; complete once it has an engine."""
        unlisted = f"{self._url} lists no models, so that {self._name} is asked for unseen"
        return [*([] if self._entry or self._entry is None else [unlisted]), *self._refusal_notes]

    def identity(self) -> dict[str, Any]:
        """Return the server's description of the model, but not its address, which may change.

        `listed` is False if it lists no models. `extra_body` holds the user's extra fields. Once
        there is an engine, `refused` names settings that the server refused: they are left out,
        except that `max_tokens` is sent as `max_completion_tokens`.
        """
        entry = self._known_entry()
        known = {name: entry[name] for name in _IDENTITY_FIELDS if entry.get(name) is not None}
        return {
            **(known or {"listed": False}),
            **({"extra_body": self._extra} if self._extra else {}),
            **({"refused": sorted(self._refused)} if self._refused else {}),
        }

    def probe(self) -> str:
        """Ask the server for its models, and return its address and what it serves.

        Raises:
            UserError: It cannot be reached, refuses the key, or does not serve the model.
        """
        try:
            self._entry = self._loop.run(self._find_entry())
        except RetryableError as error:
            raise UserError(
                f"{self._url} does not say what it serves: {error}; start the server, or correct "
                "--base-url",
                exit_code=1,
            ) from error
        if not self._entry:
            return f"{self._url}, which lists no models"
        owner = self._entry.get("owned_by")
        by = f" by {owner}" if owner else ""
        tokens = f", {self.context} tokens" if self.context else ""
        return f"{self._url} serves {self._name}{by}{tokens}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks the server.

        A server of an unknown kind is first asked for one completion, to find the settings that it
        refuses.
        """
        entry, context = self._known_entry(), self.context
        if context is not None and sampling.max_tokens >= context:
            raise UserError(
                f"{self._url} serves {self._name} with a context of {context} tokens; "
                f"lower --max-tokens, which is {sampling.max_tokens}"
            )
        dialect = find_dialect(entry)
        if dialect is PLAIN and self._refused is None:
            sender = RequestSender(self._target(PLAIN), self._options, sampling)
            self._refused, note = self._loop.run(sender.find_refused())
            if note:
                self._refusal_notes.append(f"{self._url} {note}; run.json says so")
        sender = RequestSender(self._target(dialect), self._options, sampling)
        return AsyncEngine(self._loop, self._options.concurrency, sender.answer)

    def _target(self, dialect: Dialect) -> ServerTarget:
        refused = self._refused or frozenset()
        return ServerTarget(self._send, self._url, self._key, dialect, refused, self._extra)

    def _known_entry(self) -> Mapping[str, Any]:
        if self._entry is None:
            self.probe()
        return self._entry or {}
