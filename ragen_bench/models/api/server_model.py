"""Models on a server: their base class, and `openai/NAME` by OpenAI's chat protocol."""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.dialects import DIALECTS, PLAIN
from ragen_bench.models.api.errors import RejectedResponseError, RetryableError, raise_client_error
from ragen_bench.models.api.options import (
    ServerKey,
    ServerOptions,
    check_url,
    is_loopback,
    read_key,
    url_error,
)
from ragen_bench.models.api.request import RequestSender, retry
from ragen_bench.models.api.response import make_client, read_models
from ragen_bench.models.api.returned import AS_RECORDED
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.api.served_template import ServedTemplate, read_template
from ragen_bench.models.api.stream import is_stream, merge_openai, wants_stream
from ragen_bench.models.api.system_role import refuses_system
from ragen_bench.models.async_engine import AsyncEngine, BackgroundLoop
from ragen_bench.models.base import Engine, Message, Sampling
from ragen_bench.models.call_forms import CallForm
from ragen_bench.models.prompt import merge_system
from ragen_bench.models.reasoning import let_think
from ragen_bench.models.thinking_marks import parse_marks

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

_CONNECT_SECONDS = 10.0
_STREAM_OPTIONS = re.compile("stream_options|include_usage")
_MAX_NAMES = 10
_NO_LIST = {404, 405, 501}
"""HTTP statuses of a server without a list of models."""
_MAX_DROPPED = 2
"""Retries of the first connection if the server drops it."""
_IDENTITY_FIELDS = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""Fields of a server's entry that do not change when it is restarted."""


class ServerModel(ABC):
    """Asks a server for a model, whose name there is `name`, many requests at once.

    `thinking_marks` is as in `--thinking-marks`; `template` is what is known of the chat template.
    """

    group_size = 1

    def __init__(
        self,
        name: str,
        options: ServerOptions,
        url: str,
        key: ServerKey,
        thinking_marks: str = "",
    ) -> None:
        self.template = ServedTemplate(parse_marks(thinking_marks) if thinking_marks else None)
        self.slots = options.concurrency
        self._name, self.options, self.url = name, options, url
        secrets = {word for _, value in options.headers for word in value.split()}
        # A header may name the model, and the list of models then names it too.
        self.key = key._replace(others=tuple(sorted(secrets - {name})))
        self.extra = json.loads(options.extra_body or "{}")
        self._loop = BackgroundLoop()
        self._entry: JsonObject | None = None
        self._refused: frozenset[str] | None = None
        self._refusal_notes: list[str] = []
        self.key_works, self.style = False, AS_RECORDED
        self.streams = options.stream
        self._merges_system = False
        self.has_answered = False

    async def ask(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send a request, whose system text leads the first user message if a server wants that.

        It does once it refuses the system role and takes the same conversation without. See `send`.
        """
        merged = cast(Any, merge_system(messages))
        if self._merges_system:
            return await self._ask_streamed(merged, settings, fields)
        try:
            return await self._ask_streamed(messages, settings, fields)
        except (UserError, RetryableError) as error:
            if not refuses_system(str(error), messages):
                raise
            refusal = error
        try:
            body = await self._ask_streamed(merged, settings, fields)
        except UserError:
            raise refusal from None
        self._merges_system = True
        note = f"{self.url} refuses system messages, so that theirs lead the first user message"
        if note not in self._refusal_notes:
            self._refusal_notes.append(note)
        return body

    def resume(self, identity: JsonObject) -> None:
        """Ask as a recorded run did."""
        self._merges_system |= identity.get("system_message") == "merged"

    async def _ask_streamed(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send a request, streamed if asked for, or once the server says that it answers no others.

        See `send`.
        """
        was_streamed = self.streams
        try:
            return await self.send(messages, settings, fields)
        except (UserError, RetryableError) as error:
            if was_streamed or not wants_stream(str(error)):
                raise
            refusal = error
        self.streams = True
        try:
            body = await self.send(messages, settings, fields)
        except UserError:
            self.streams = False
            raise refusal from None
        note = f"{self.url} answers streamed requests alone, so it is asked so, as with --stream"
        if note not in self._refusal_notes:
            self._refusal_notes.append(note)
        return body

    @abstractmethod
    async def _find_entry(self) -> JsonObject:
        """Return the server's entry of the model; empty if it lists no models."""

    @abstractmethod
    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send one request, streamed if `streams`, and return the response in OpenAI's protocol.

        `settings` are those of the sampling, `fields` are extra. The errors are a RetryableError, a
        ContextError for a conversation that is too long, and a UserError for a refused request.
        """

    @property
    def call_form(self) -> CallForm | None:
        """The form of calls in the texts of responses; None if the server reads them itself."""
        return None

    @property
    def context(self) -> int | None:
        """Context length of the model in tokens, if the server reports it."""
        entry = self._known_entry()
        meta = entry.get("meta")  # of llama.cpp
        n_ctx = meta.get("n_ctx") if isinstance(meta, dict) else None
        tokens = entry.get("max_model_len") or n_ctx
        return tokens if type(tokens) is int else None

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the model is asked; complete once it has an engine."""
        unlisted = f"{self.url} lists no models, so that {self._name} is asked for unseen"
        return [*([] if self._entry or self._entry is None else [unlisted]), *self._refusal_notes]

    def identity(self) -> JsonObject:
        """Return the server's description of the model, but not its address, which may change.

        `listed` is False if it lists no models. `extra_body` holds the user's extra fields. Once
        there is an engine, `refused` names settings that the server refused: they are left out,
        except that `max_tokens` is sent as `max_completion_tokens`. `system_message` is "merged"
        once the server has refused the system role.
        """
        entry = self._entry_with_template()
        known = {name: entry[name] for name in _IDENTITY_FIELDS if entry.get(name) is not None}
        return {
            **(known or {"listed": False}),
            **({"extra_body": self.extra} if self.extra else {}),
            **({"refused": sorted(self._refused)} if self._refused else {}),
            **({"system_message": "merged"} if self._merges_system else {}),
            **self.template.thinking.identity(),
        }

    def probe(self) -> str:
        """Ask the server for its models, and return its address and what it serves.

        A UserError says that it cannot be reached, refuses the key, or does not serve the model.
        """
        try:
            self._entry = self._loop.run(self._find_entry())
        except RetryableError as error:
            raise UserError(
                f"{self.url} does not say what it serves: {error}; start the server, or correct "
                "--base-url",
                exit_code=1,
            ) from error
        if not self._entry:
            return f"{self.url}, which lists no models"
        owner = self._entry.get("owned_by")
        by = f" by {owner}" if owner else ""
        tokens = f", {self.context} tokens" if self.context else ""
        return f"{self.url} serves {self._name}{by}{tokens}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine; an unknown kind of server is first asked which settings it refuses."""
        entry, context = self._entry_with_template(), self.context
        if context is not None and sampling.max_tokens >= context:
            raise UserError(
                f"{self.url} serves {self._name} with a context of {context} tokens; "
                f"lower --max-tokens, which is {sampling.max_tokens}"
            )
        sampling = let_think(sampling, self.template.thinking, self.template.opening)
        dialect = DIALECTS.get(str(entry.get("owned_by")), PLAIN)
        if dialect is PLAIN and self._refused is None:
            sender = RequestSender(self, PLAIN, sampling)
            self._refused, note = self._loop.run(sender.find_refused())
            if note:
                self._refusal_notes.append(f"{self.url} {note}; run.json says so")
        sender = RequestSender(self, dialect, sampling, self._refused or frozenset())
        return AsyncEngine(self._loop, self.slots, sender.answer)

    def _known_entry(self) -> JsonObject:
        if self._entry is None:
            self.probe()
        return self._entry or {}

    def _entry_with_template(self) -> JsonObject:
        """Return the server's entry, once the marks of its chat template are known."""
        return self._known_entry()


class OpenAIModel(ServerModel):
    """Asks a server that speaks OpenAI's protocol.

    `key` is the server's; if None, it is that of the options' variable. A server without keys
    gets a placeholder. A UserError says that the base URL is missing or invalid.
    """

    def __init__(
        self,
        name: str,
        options: ServerOptions | None = None,
        key: str | None = None,
        thinking_marks: str = "",
    ) -> None:
        options = options or ServerOptions()
        url = check_url(options.base_url or os.environ.get("OPENAI_BASE_URL"))
        variable = options.key_variable
        server_key = read_key(variable) if key is None else ServerKey(key, variable)
        super().__init__(name, options, url, server_key, thinking_marks)
        self._counts_streamed = True
        self._template_is_read = False
        # A proxy named in the environment cannot reach this machine's own addresses.
        try:
            self._client = openai.AsyncOpenAI(
                base_url=url,
                api_key=server_key.text or "none",
                max_retries=0,
                default_headers=dict(options.headers),
                timeout=openai.Timeout(None, connect=_CONNECT_SECONDS),
                http_client=make_client(
                    openai.DefaultAsyncHttpxClient, trust_env=not is_loopback(url)
                ),
            )
        except Exception as error:  # the HTTP library checks URLs more strictly
            raise url_error(url) from error

    async def _find_entry(self) -> JsonObject:
        def should_retry(error: RetryableError) -> bool:
            # A server that is not running is reported at once.
            return error.answered or (error.reached and error.tries <= _MAX_DROPPED)

        served = await retry(self._list_models, self.options, should_retry=should_retry)
        if self._name in served or not served:
            return served.get(self._name, {})
        names = ", ".join(sorted(served)[:_MAX_NAMES])
        rest = f" and {len(served) - _MAX_NAMES} more" if len(served) > _MAX_NAMES else ""
        raise UserError(f"{self.url} does not serve {self._name!r}; it serves {names}{rest}")

    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send one request; see `ServerModel.send`."""
        streaming: JsonObject = {"stream": True} if self.streams else {}
        if self.streams and self._counts_streamed:
            streaming["stream_options"] = {"include_usage": True}
        try:
            response = await self._client.chat.completions.with_raw_response.create(
                model=self._name,
                messages=cast(Any, list(messages)),
                extra_body=dict(fields),
                **settings,
                **streaming,
            )
        except (openai.APIError, RejectedResponseError) as error:
            if "stream_options" in streaming and _STREAM_OPTIONS.search(str(error)):
                self._counts_streamed = False
                return await self.send(messages, settings, fields)
            raise_client_error(error, self.url, self.key)
        body = response.content.decode("utf-8", "replace")
        return merge_openai(body) if is_stream(body) else body

    def _entry_with_template(self) -> JsonObject:
        entry = self._known_entry()
        if not self._template_is_read and entry.get("owned_by") == "llamacpp":
            template = self._loop.run(read_template(self._client, self.url, self.template.marks))
            self.template = template or self.template
        self._template_is_read = True
        return entry

    async def _list_models(self) -> dict[str, JsonObject]:
        try:
            response = await self._client.models.with_raw_response.list()
        except (openai.APIError, RejectedResponseError) as error:
            if getattr(error, "status_code", None) in _NO_LIST:
                return {}
            raise_client_error(error, self.url, self.key)
        body = response.content.decode("utf-8", "replace")
        return read_models(body, lambda text: remove_secrets(text, self.key))
