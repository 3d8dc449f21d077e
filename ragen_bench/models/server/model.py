"""`openai/NAME`: a model on a server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import Engine, Sampling
from ragen_bench.models.server.background_loop import BackgroundLoop
from ragen_bench.models.server.chat import Chat, Place
from ragen_bench.models.server.dialects import PLAIN, Dialect, context_of, dialect_of
from ragen_bench.models.server.engine import ServerEngine
from ragen_bench.models.server.faults import PassingError, openai, raise_fault, without_secrets
from ragen_bench.models.server.further import secrets_of
from ragen_bench.models.server.options import (
    ServerKey,
    ServerOptions,
    checked_url,
    is_here,
    key_of_environment,
    no_url,
)
from ragen_bench.models.server.reply import models_of
from ragen_bench.models.server.retries import with_retries

_IDENTIFYING = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""What servers say of a model that does not change when they are started anew."""
_CONNECT_SECONDS = 10.0
_LISTED = 10
_UNLISTED = {404, 405, 501}
"""What a server answers that lists no models."""
_DROPPED = 2
"""How often a server that drops the first connection is asked again."""


class OpenAIModel:
    """Asks a server, many requests at once.

    Args:
        name: what the server calls the model.
        options: how it is reached.
        key: the server's; that of the options' variable if None. Without one, a server that needs
            none is asked.

    Raises:
        UserError: if there is no usable base URL.
    """

    def __init__(
        self, name: str, options: ServerOptions | None = None, key: str | None = None
    ) -> None:
        self._name = name
        self._options = options or ServerOptions()
        self._url = checked_url(self._options.base_url or os.environ.get("OPENAI_BASE_URL"))
        variable = self._options.key_variable
        plain = key_of_environment(variable) if key is None else ServerKey(key, variable)
        # A header may name the model, and then the list of models names it too.
        others = {*secrets_of(self._options.headers)} - {name}
        self._key = plain._replace(others=tuple(sorted(others)))
        self._further = json.loads(self._options.extra_body or "{}")
        self._loop = BackgroundLoop()
        self._entry: Mapping[str, Any] | None = None
        self._refused: frozenset[str] | None = None
        self._refusals: list[str] = []
        try:
            self._client = openai.AsyncOpenAI(
                base_url=self._url,
                api_key=self._key.text or "none",
                max_retries=0,
                default_headers=dict(self._options.headers),
                timeout=openai.Timeout(None, connect=_CONNECT_SECONDS),
                # A proxy of the environment cannot reach this machine's own addresses.
                http_client=openai.DefaultAsyncHttpxClient(trust_env=not is_here(self._url)),
            )
        except Exception as error:  # of the HTTP library below it, which knows more of URLs
            raise no_url(self._url) from error

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

    def _place(self, dialect: Dialect) -> Place:
        refused = self._refused or frozenset()
        return Place(
            self._client, self._url, self._key, self._name, dialect, refused, self._further
        )

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

    async def _find(self) -> Mapping[str, Any]:
        served = await with_retries(self._list, self._options, may_pass=_may_pass_at_start)
        if self._name in served or not served:
            return served.get(self._name, {})
        names = ", ".join(sorted(served)[:_LISTED])
        more = f" and {len(served) - _LISTED} more" if len(served) > _LISTED else ""
        raise UserError(f"{self._url} does not serve {self._name!r}; it serves {names}{more}")

    async def _list(self) -> dict[str, Mapping[str, Any]]:
        try:
            reply = await self._client.models.with_raw_response.list()
        except openai.APIError as error:
            if getattr(error, "status_code", None) in _UNLISTED:
                return {}
            raise_fault(error, self._url, self._key)
        body = reply.content.decode("utf-8", "replace")
        return models_of(body, lambda text: without_secrets(text, self._key))


def _may_pass_at_start(error: PassingError) -> bool:
    """Return whether to ask again: where nothing listens, a user should know at once."""
    return error.answered or (error.reached and error.tries <= _DROPPED)
