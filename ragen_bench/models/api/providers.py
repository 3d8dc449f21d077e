"""`anthropic/NAME` and `google/NAME`: hosted models, by their own protocols."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, get_args

from ragen_bench.errors import UserError, described, missing_extra
from ragen_bench.models.api.connection import bounded
from ragen_bench.models.api.faults import (
    PassingError,
    Refusal,
    RefusedRequestError,
    raise_refusal,
    raise_rejection,
    words_of,
)
from ragen_bench.models.api.options import (
    OWN_KEY,
    ServerKey,
    ServerOptions,
    checked_url,
    key_of_environment,
)
from ragen_bench.models.api.redaction import without_secrets
from ragen_bench.models.api.served import ServedModel
from ragen_bench.models.base import Message

try:
    import httpx
    from any_llm import AnyLLM
    from any_llm.exceptions import AnyLLMError, InvalidRequestError, UnsupportedParameterError
    from any_llm.types.completion import ReasoningEffort
except ImportError as missing:
    raise missing_extra(missing, "providers") from missing


@dataclass(frozen=True)
class _Provider:
    """A protocol of its own.

    Attributes:
        library: what any-llm calls it.
        key: the variable of the environment that holds the key.
        url_variable: that of another base URL.
        url: the base URL else.
        has_seed: whether requests have one, and a neutral top-p beside the temperature.
    """

    library: str
    key: str
    url_variable: str
    url: str
    has_seed: bool


_PROVIDERS = {
    "anthropic": _Provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "https://api.anthropic.com",
        has_seed=False,
    ),
    "google": _Provider(
        "gemini",
        "GEMINI_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com",
        has_seed=True,
    ),
}


class ProviderModel(ServedModel):
    """Asks Anthropic or Google through any-llm, whose own retries are off.

    Args:
        provider: "anthropic" or "google".
        name: what it calls the model.
        options: how it is reached; the base URL is the provider's own if None.

    Raises:
        UserError: if there is no key, or an option that it does not take.
    """

    def __init__(self, provider: str, name: str, options: ServerOptions | None = None) -> None:
        self._provider = _PROVIDERS[provider]
        options = options or ServerOptions()
        named = options.base_url or os.environ.get(self._provider.url_variable)
        url = checked_url(named or self._provider.url)
        variable = options.key_variable
        key = key_of_environment(self._provider.key if variable == OWN_KEY else variable)
        if not key.text:
            raise UserError(f"{url} wants a key: set {key.variable}")
        super().__init__(name, options, url, key)
        self._effort = self._further.get("reasoning_effort", "auto")
        if self._effort not in get_args(ReasoningEffort):
            levels = ", ".join(get_args(ReasoningEffort))
            raise UserError(f"--reasoning-effort is one of {levels} for {provider}/NAME")
        self._listed = {"id": name, "owned_by": provider}
        try:
            self._client = self._connected(dict(options.headers))
        except ImportError as missing:
            raise missing_extra(missing, "providers") from missing

    def probe(self) -> str:
        """Return where the model is asked for; whether it is there, its engine finds out."""
        self._entry = self._listed
        return f"{self._url}, by any-llm"

    async def _find(self) -> Mapping[str, Any]:
        return self._listed

    def _connected(self, headers: dict[str, str]) -> AnyLLM:
        limits = httpx.Limits(max_connections=None)
        client = bounded(httpx.AsyncClient, timeout=self._options.timeout, limits=limits)
        more: dict[str, Any] = {"default_headers": headers, "http_client": client}
        if self._provider.library == "gemini":
            # The other version has no models in preview.
            options = {"headers": headers, "api_version": "v1beta", "httpx_async_client": client}
            more = {"http_options": options}
        return AnyLLM.create(
            self._provider.library,
            api_key=self._key.text,
            api_base=self._url,
            unified_exceptions=True,
            max_retries=0,
            **more,
        )

    async def _send(
        self, messages: Sequence[Message], settings: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> str:
        further = {name: value for name, value in fields.items() if name != "reasoning_effort"}
        try:
            reply = await self._client.acompletion(
                self._name,
                [dict(message) for message in messages],
                reasoning_effort=self._effort,
                timeout=self._options.timeout,
                **self._known(settings),
                **self._added(further),
            )
        except AnyLLMError as error:
            _raise_fault(error, self._url, self._key)
        except Exception as error:  # of a reply that the libraries below cannot read
            raise_rejection(error, self._url, self._key)
            said = without_secrets(described(error), self._key)
            raise PassingError(said, answered=True) from error
        return _in_openais_words(reply)

    def _known(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that the protocol has."""
        known = dict(settings)
        if not self._provider.has_seed:
            known.pop("seed", None)
            # Anthropic's newer models take one of temperature and top-p.
            if known.get("top_p") == 1:
                del known["top_p"]
        return known

    def _added(self, further: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a user adds to the request, as the library takes it."""
        if not further:
            return {}
        added = {"extra_body": dict(further)}
        return {"http_options": added} if self._provider.library == "gemini" else added


def _in_openais_words(reply: Any) -> str:
    """Return a reply as OpenAI's protocol has it, with the thoughts beside the answer."""
    usage = reply.usage
    choices = [
        {
            "finish_reason": choice.finish_reason,
            "message": {
                "content": choice.message.content,
                "reasoning": choice.message.reasoning and choice.message.reasoning.content,
            },
        }
        for choice in reply.choices
    ]
    counts = {name: getattr(usage, name) for name in ("prompt_tokens", "completion_tokens")}
    return json.dumps({"choices": choices, "usage": counts if usage else None})


def _raise_fault(error: AnyLLMError, url: str, key: ServerKey) -> NoReturn:
    """Raise what an error of the library means; see `faults.raise_fault`."""
    cause = error.original_exception or error
    raise_rejection(cause, url, key)
    if error.status_code is None:
        if isinstance(error, InvalidRequestError | UnsupportedParameterError):
            said = without_secrets(" ".join(str(error).split()), key)
            raise RefusedRequestError(f"{url} cannot be asked so: {said}")
        raise PassingError(without_secrets(described(cause), key)) from error
    body = getattr(cause, "body", None)
    inner = body.get("error") if isinstance(body, dict) else None
    words = words_of(error.status_code, inner or getattr(cause, "message", str(cause)), key)
    # Google answers a key that it does not know with 400.
    unknown_key = error.status_code == 400 and "api key" in words.lower()
    headers = getattr(getattr(cause, "response", None), "headers", {})
    refusal = Refusal(
        401 if unknown_key else error.status_code,
        words,
        frozenset(name for name in (error.code, error.error_type) if name),
        error.param,
        headers.get("retry-after", ""),
    )
    raise_refusal(refusal, url, key)
