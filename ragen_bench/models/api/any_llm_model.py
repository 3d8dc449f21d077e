"""`anthropic/NAME` and `google/NAME`: hosted models, by their own protocols through any-llm."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, get_args

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.errors import (
    RefusedRequestError,
    RetryableError,
    describe_response,
    raise_error_response,
    raise_rejection,
)
from ragen_bench.models.api.options import SERVER_KEY, ServerKey, ServerOptions, check_url, read_key
from ragen_bench.models.api.response import make_client
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.api.server_model import ServerModel
from ragen_bench.models.base import Message
from ragen_bench.models.provider import find_provider

try:
    import httpx
    from any_llm import AnyLLM
    from any_llm.exceptions import AnyLLMError, InvalidRequestError, UnsupportedParameterError
    from any_llm.types.completion import ReasoningEffort
except ImportError as missing:
    raise missing_extra(missing, "providers") from missing


class _Protocol(NamedTuple):
    library: str
    key_variable: str
    url_variable: str
    url: str


_PROTOCOLS = {
    "anthropic": _Protocol(
        "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"
    ),
    "google": _Protocol(
        "gemini",
        "GEMINI_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com",
    ),
}


class AnyLLMModel(ServerModel):
    """Asks Anthropic or Google through any-llm, without its retries.

    The base URL is the provider's own if the options have none. A UserError says that the key
    is missing, or an option is invalid.
    """

    def __init__(self, provider: str, name: str, options: ServerOptions | None = None) -> None:
        self._protocol = _PROTOCOLS[provider]
        options = options or ServerOptions()
        url = check_url(
            options.base_url or os.environ.get(self._protocol.url_variable) or self._protocol.url
        )
        variable = options.key_variable
        key = read_key(self._protocol.key_variable if variable == SERVER_KEY else variable)
        if not key.text:
            raise UserError(f"{url} wants a key: set {key.variable}")
        super().__init__(name, options, url, key)
        self._effort = self.extra.get("reasoning_effort", "auto")
        if self._effort not in get_args(ReasoningEffort):
            levels = ", ".join(get_args(ReasoningEffort))
            raise UserError(f"--reasoning-effort is one of {levels} for {provider}/NAME")
        self._has_seed = find_provider(f"{provider}/{name}").seeded
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
        try:
            response = await self._client.acompletion(
                self._name,
                [dict(message) for message in messages],
                reasoning_effort=self._effort,
                timeout=self.options.timeout,
                **supported,
                **additions,
            )
        except AnyLLMError as error:
            _raise_library_error(error, self.url, self.key)
        except Exception as error:  # a response that the libraries cannot read
            raise_rejection(error, self.url, self.key)
            reason = remove_secrets(described(error), self.key)
            raise RetryableError(reason, answered=True) from error
        choices = [
            {
                "finish_reason": choice.finish_reason,
                "message": {
                    "content": choice.message.content,
                    "reasoning": choice.message.reasoning and choice.message.reasoning.content,
                },
            }
            for choice in response.choices
        ]
        names = ("prompt_tokens", "completion_tokens")
        usage = response.usage and {name: getattr(response.usage, name) for name in names}
        return json.dumps({"choices": choices, "usage": usage})


def _raise_library_error(error: AnyLLMError, url: str, key: ServerKey) -> NoReturn:
    """Raise the meaning of an error of any-llm; see `errors.raise_client_error`."""
    cause = error.original_exception or error
    raise_rejection(cause, url, key)
    if error.status_code is None:
        if isinstance(error, InvalidRequestError | UnsupportedParameterError):
            reason = remove_secrets(" ".join(str(error).split()), key)
            raise RefusedRequestError(f"{url} cannot be asked so: {reason}")
        raise RetryableError(remove_secrets(described(cause), key)) from error
    body = getattr(cause, "body", None)
    inner = body.get("error") if isinstance(body, dict) else None
    words = describe_response(
        error.status_code, inner or getattr(cause, "message", str(cause)), key
    )
    # Google answers an unknown key with 400.
    is_unknown_key = error.status_code == 400 and "api key" in words.lower()
    headers = getattr(getattr(cause, "response", None), "headers", {})
    status = 401 if is_unknown_key else error.status_code
    names = frozenset(name for name in (error.code, error.error_type) if name)
    retry_after = headers.get("retry-after", "")
    raise_error_response(url, key, status, words, names, error.param, retry_after)
