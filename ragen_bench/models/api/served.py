"""What models on any server have in common: they are asked over the network, many at once."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.api.background_loop import BackgroundLoop
from ragen_bench.models.api.chat import Chat, ServerPlace
from ragen_bench.models.api.dialects import PLAIN, Dialect, context_of, dialect_of
from ragen_bench.models.api.engine import ServerEngine
from ragen_bench.models.api.faults import PassingError
from ragen_bench.models.api.further import secrets_of
from ragen_bench.models.api.options import ServerKey, ServerOptions
from ragen_bench.models.base import Engine, Message, Sampling

_IDENTIFYING = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""What servers say of a model that does not change when they are started anew."""


class ServedModel(ABC):
    """Asks a server, many requests at once.

    Args:
        name: what the server calls the model.
        options: how it is reached.
        url: the base URL.
        key: the server's.
    """

    def __init__(self, name: str, options: ServerOptions, url: str, key: ServerKey) -> None:
        self._name, self._options, self._url = name, options, url
        # A header may name the model, and then the list of models names it too.
        others = {*secrets_of(options.headers)} - {name}
        self._key = key._replace(others=tuple(sorted(others)))
        self._further = json.loads(options.extra_body or "{}")
        self._loop = BackgroundLoop()
        self._entry: Mapping[str, Any] | None = None
        self._refused: frozenset[str] | None = None
        self._refusals: list[str] = []

    @abstractmethod
    async def _find(self) -> Mapping[str, Any]:
        """Return what the server says of the model; nothing if it lists no models."""

    @abstractmethod
    async def _send(
        self, messages: Sequence[Message], settings: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> str:
        """Send one request and return the reply as OpenAI's protocol has it.

        Args:
            messages: the conversation.
            settings: how to sample, by the names of OpenAI's protocol.
            fields: what the request holds beside them.

        Raises:
            PassingError: if another try may succeed.
            ContextError: if the conversation is too long.
            UserError: if the server will not answer this request.
        """

    @property
    def slots(self) -> int:
        """How many requests are in flight at once."""
        return self._options.concurrency

    @property
    def group_size(self) -> int:
        """1: what else is in flight at a server is not ours to decide."""
        return 1

    @property
    def context(self) -> int | None:
        """Tokens of the model's context, if the server names them."""
        return context_of(self._known_entry())

    @property
    def notes(self) -> list[str]:
        """What a user should know of how the model is asked; complete with its engine."""
        unlisted = f"{self._url} lists no models, so that {self._name} is asked for unseen"
        return [*([] if self._entry or self._entry is None else [unlisted]), *self._refusals]

    def identity(self) -> dict[str, Any]:
        """Return what the server says of the model; not where it is, which may change.

        `listed` is False if it lists no models. `extra_body` holds what the user adds to each
        request. Once there is an engine, `refused` names settings that the server refused: they
        are left out, but for `max_tokens`, which is sent as `max_completion_tokens`.

        Raises:
            UserError: as `probe`, if it was not called before.
        """
        entry = self._known_entry()
        known = {name: entry[name] for name in _IDENTIFYING if entry.get(name) is not None}
        return {
            **(known or {"listed": False}),
            **({"extra_body": self._further} if self._further else {}),
            **({"refused": sorted(self._refused)} if self._refused else {}),
        }

    def probe(self) -> str:
        """Ask the server what it serves, and return where it is and what it is.

        Raises:
            UserError: if it cannot be reached, refuses the key, or does not serve the model.
        """
        try:
            self._entry = self._loop.run(self._find())
        except PassingError as error:
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

        A server of an unknown kind is asked for an answer before, to find the settings that it
        refuses.

        Raises:
            UserError: if it cannot sample so, or its context is shorter than the longest answer.
        """
        entry, context = self._known_entry(), self.context
        if context is not None and sampling.max_tokens >= context:
            raise UserError(
                f"{self._url} serves {self._name} with a context of {context} tokens; "
                f"lower --max-tokens, which is {sampling.max_tokens}"
            )
        dialect = dialect_of(entry)
        if dialect is PLAIN and self._refused is None:
            self._find_refused(sampling)
        chat = Chat(self._place(dialect), self._options, sampling)
        return ServerEngine(self._loop, self._options.concurrency, chat.answer)

    def _place(self, dialect: Dialect) -> ServerPlace:
        refused = self._refused or frozenset()
        return ServerPlace(self._send, self._url, self._key, dialect, refused, self._further)

    def _find_refused(self, sampling: Sampling) -> None:
        """Find out what the server refuses of one sampling; for another one it is not asked."""
        chat = Chat(self._place(PLAIN), self._options, sampling)
        self._refused, note = self._loop.run(chat.find_refused())
        if note:
            self._refusals.append(f"{self._url} {note}; run.json says so")

    def _known_entry(self) -> Mapping[str, Any]:
        if self._entry is None:
            self.probe()
        return self._entry or {}
