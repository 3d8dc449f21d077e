"""`openai/NAME`: a model on a server, by OpenAI's chat protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, cast

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.base import ServerModel
from ragen_bench.models.api.errors import RejectedResponseError, RetryableError, raise_client_error
from ragen_bench.models.api.options import (
    ServerKey,
    ServerOptions,
    check_url,
    is_loopback,
    read_key,
    url_error,
)
from ragen_bench.models.api.response import make_client, read_models
from ragen_bench.models.api.retries import retry
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.api.served_template import UNSHOWN, find_root, look, read_template
from ragen_bench.models.api.stream import is_stream, merge_openai
from ragen_bench.models.base import Message

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
_PROMPTS = {"llamacpp": ("apply-template", "prompt"), "vllm": ("tokenize", "tokens")}
"""Where servers show a prompt next to their API, and the field with its text or tokens."""


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

    async def measure_prompt(self, messages: Sequence[Message]) -> int:
        """Return the length of a conversation, as llama.cpp and vLLM render it."""
        path, field = _PROMPTS.get(str((self._entry or {}).get("owned_by")), ("", ""))
        if not path:
            return 0
        switches = {n: self.extra[n] for n in ("chat_template_kwargs",) if n in self.extra}
        body = {"model": self._name, "messages": messages, **switches}
        try:
            return len((await self.show(path, body))[field])
        except UNSHOWN:
            return 0

    async def show(self, path: str, body: JsonObject | None = None) -> Any:
        """Return what the server shows next to its API; see `look`."""
        return await look(self._client, f"{find_root(self.url)}/{path}", body)

    def _entry_with_template(self) -> JsonObject:
        entry = self._known_entry()
        if not self._template_is_read and entry.get("owned_by") == "llamacpp":
            template = self._loop.run(read_template(self.show, self.template.marks))
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
