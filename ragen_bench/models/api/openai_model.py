"""`openai/NAME`: a model on a server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.models.api.errors import RetryableError, raise_client_error
from ragen_bench.models.api.http import RejectedResponseError, make_client
from ragen_bench.models.api.options import (
    ServerKey,
    ServerOptions,
    check_url,
    is_loopback,
    read_key,
    url_error,
)
from ragen_bench.models.api.request import retry
from ragen_bench.models.api.response import read_models
from ragen_bench.models.api.secrets import remove_secrets
from ragen_bench.models.api.server_model import ServerModel
from ragen_bench.models.base import Message

try:
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

_CONNECT_SECONDS = 10.0
_MAX_NAMES = 10
_NO_LIST = {404, 405, 501}
"""HTTP statuses of a server without a list of models."""
_MAX_DROPPED = 2
"""Retries of the first connection if the server drops it."""


class OpenAIModel(ServerModel):
    """Asks a server that speaks OpenAI's protocol.

    Args:
        name: The server's name of the model.
        options: Connection options.
        key: The server's key; if None, that of the options' variable. A server without keys gets a
            placeholder.

    Raises:
        UserError: The base URL is missing or invalid.
    """

    def __init__(
        self, name: str, options: ServerOptions | None = None, key: str | None = None
    ) -> None:
        options = options or ServerOptions()
        url = check_url(options.base_url or os.environ.get("OPENAI_BASE_URL"))
        variable = options.key_variable
        server_key = read_key(variable) if key is None else ServerKey(key, variable)
        super().__init__(name, options, url, server_key)
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

    async def _find_entry(self) -> Mapping[str, Any]:
        served = await retry(self._list_models, self._options, should_retry=_should_retry_list)
        if self._name in served or not served:
            return served.get(self._name, {})
        names = ", ".join(sorted(served)[:_MAX_NAMES])
        rest = f" and {len(served) - _MAX_NAMES} more" if len(served) > _MAX_NAMES else ""
        raise UserError(f"{self._url} does not serve {self._name!r}; it serves {names}{rest}")

    async def _send(
        self, messages: Sequence[Message], settings: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> str:
        try:
            response = await self._client.chat.completions.with_raw_response.create(
                model=self._name,
                messages=cast(Any, list(messages)),
                extra_body=dict(fields),
                **settings,
            )
        except (openai.APIError, RejectedResponseError) as error:
            raise_client_error(error, self._url, self._key)
        content: bytes = response.content
        return content.decode("utf-8", "replace")

    async def _list_models(self) -> dict[str, Mapping[str, Any]]:
        try:
            response = await self._client.models.with_raw_response.list()
        except (openai.APIError, RejectedResponseError) as error:
            if getattr(error, "status_code", None) in _NO_LIST:
                return {}
            raise_client_error(error, self._url, self._key)
        body = response.content.decode("utf-8", "replace")
        return read_models(body, lambda text: remove_secrets(text, self._key))


def _should_retry_list(error: RetryableError) -> bool:
    """Return whether to ask again: a server that is not running is reported at once."""
    return error.answered or (error.reached and error.tries <= _MAX_DROPPED)
