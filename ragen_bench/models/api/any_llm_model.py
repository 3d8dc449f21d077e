"""`anthropic/NAME` and `google/NAME`: hosted models, by their own protocols through any-llm."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, NoReturn, get_args

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.base import ServerModel
from ragen_bench.models.api.errors import (
    RefusedRequestError,
    RetryableError,
    describe_response,
    raise_error_response,
    raise_rejection,
)
from ragen_bench.models.api.native import convert_anthropic, convert_google
from ragen_bench.models.api.options import SERVER_KEY, ServerOptions, check_url, read_key
from ragen_bench.models.api.response import REPLIES, make_client
from ragen_bench.models.api.returned import NATIVE, NO_ANSWER
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.api.stream import is_stream, merge_anthropic, merge_google
from ragen_bench.models.base import Message
from ragen_bench.models.provider import find_provider

try:
    import httpx
    from any_llm import AnyLLM
    from any_llm.exceptions import InvalidRequestError, UnsupportedParameterError
    from any_llm.types.completion import ReasoningEffort
except ImportError as missing:
    raise missing_extra(missing, "providers") from missing


class _Protocol(NamedTuple):
    library: str
    key_variable: str
    url_variable: str
    url: str
    convert: Callable[[JsonObject], JsonObject]
    merge: Callable[[str], str]


_PROTOCOLS = {
    "anthropic": _Protocol(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "https://api.anthropic.com",
        convert_anthropic,
        merge_anthropic,
    ),
    "google": _Protocol(
        "gemini",
        "GEMINI_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com",
        convert_google,
        merge_google,
    ),
}


class AnyLLMModel(ServerModel):
    """Asks Anthropic or Google through any-llm, without its retries.

    The base URL is the provider's own if the options have none. A UserError says that the key
    is missing, or an option is invalid.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        options: ServerOptions | None = None,
        thinking_marks: str = "",
    ) -> None:
        self._protocol = _PROTOCOLS[provider]
        options = options or ServerOptions()
        url = check_url(
            options.base_url or os.environ.get(self._protocol.url_variable) or self._protocol.url
        )
        variable = options.key_variable
        key = read_key(self._protocol.key_variable if variable == SERVER_KEY else variable)
        if not key.text:
            raise UserError(f"{url} wants a key: set {key.variable}")
        super().__init__(name, options, url, key, thinking_marks)
        self._effort = self.extra.get("reasoning_effort", "auto")
        if self._effort not in get_args(ReasoningEffort):
            levels = ", ".join(get_args(ReasoningEffort))
            raise UserError(f"--reasoning-effort is one of {levels} for {provider}/NAME")
        self._has_seed = find_provider(f"{provider}/{name}").seeded
        self._knows_system = True  # the protocols have a field for the system's text
        self._own_entry = {"id": name, "owned_by": provider}
        try:
            self._client = self._connect(dict(options.headers))
        except ImportError as missing:
            raise missing_extra(missing, "providers") from missing

    def probe(self) -> str:
        """Return the address; whether the model exists is found by its engine."""
        self._entry = self._own_entry
        return f"{self.url}, by any-llm"

    async def _find_entry(self) -> JsonObject:
        return self._own_entry

    def _connect(self, headers: dict[str, str]) -> AnyLLM:
        limits = httpx.Limits(max_connections=None)
        client = make_client(httpx.AsyncClient, timeout=self.options.timeout, limits=limits)
        settings: JsonObject = {"default_headers": headers, "http_client": client}
        if self._protocol.library == "gemini":
            # The other version lacks models in preview.
            options = {"headers": headers, "api_version": "v1beta", "httpx_async_client": client}
            settings = {"http_options": options}
        return AnyLLM.create(
            self._protocol.library,
            api_key=self.key.text,
            api_base=self.url,
            unified_exceptions=True,
            max_retries=0,
            **settings,
        )

    async def send(
        self, messages: Sequence[Message], settings: JsonObject, fields: JsonObject
    ) -> str:
        """Send one request; see `ServerModel.send`."""
        extra = {name: value for name, value in fields.items() if name != "reasoning_effort"}
        additions: JsonObject = {"extra_body": extra} if extra else {}
        if extra and self._protocol.library == "gemini":
            additions = {"http_options": additions}
        supported = dict(settings)
        if not self._has_seed:
            supported.pop("seed", None)
            # Anthropic's newer models take either temperature or top-p.
            if supported.get("top_p") == 1:
                del supported["top_p"]
        replies: list[httpx.Response] = []
        REPLIES.set(replies)
        try:
            chunks = await self._client.acompletion(
                self._name,
                [_adapt_message(message) for message in messages],
                reasoning_effort=self._effort,
                timeout=self.options.timeout,
                **supported,
                **additions,
                stream=self.streams or None,
            )
            if isinstance(chunks, AsyncIterator):
                async for _ in chunks:  # the request is sent as they are read
                    pass
        except Exception as error:  # noqa: BLE001 (of the libraries, which may not read a reply)
            if not (replies and replies[-1].is_success):
                self._raise_error(error, replies)
        body = replies[-1].text
        body = self._protocol.merge(body) if is_stream(body) else body
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError):
            return body
        if not isinstance(reply, dict) or "error" in reply:
            return body
        return json.dumps(self._protocol.convert(reply))

    def _raise_error(self, error: Exception, replies: Sequence[httpx.Response]) -> NoReturn:
        """Raise the meaning of an error of the libraries; see `errors.raise_client_error`."""
        cause = getattr(error, "original_exception", None) or error
        raise_rejection(cause, self.url, self.key)
        if not replies:
            reason = remove_secrets(" ".join(str(error).split()), self.key)
            if isinstance(error, InvalidRequestError | UnsupportedParameterError):
                raise RefusedRequestError(f"{self.url} cannot be asked so: {reason}") from error
            raise RetryableError(remove_secrets(described(cause), self.key)) from error
        reply = replies[-1]
        try:
            body = reply.json()
        except (ValueError, RecursionError):
            body = reply.text
        inner = body.get("error", body) if isinstance(body, dict) else body
        words = describe_response(reply.status_code, inner, self.key)
        # Google answers an unknown key with 400.
        is_unknown_key = reply.status_code == 400 and "api key" in words.lower()
        status = 401 if is_unknown_key else reply.status_code
        retry_after = reply.headers.get("retry-after", "")
        raise_error_response(self.url, self.key, status, inner, None, retry_after)


def _adapt_message(message: Message) -> JsonObject:
    """Return a message as the library takes it; the providers refuse an empty answer."""
    adapted: JsonObject = {**message}
    if native := adapted.pop(NATIVE, None):
        return {"role": adapted["role"], "content": native}
    if not (adapted["content"] or adapted.get("tool_calls")):
        adapted["content"] = NO_ANSWER
    return adapted
