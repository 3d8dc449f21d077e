"""`openai/NAME`: a model on a server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragen_bench.errors import UserError
from ragen_bench.models.api.connection import RejectedReplyError, bounded
from ragen_bench.models.api.faults import PassingError, openai, raise_fault
from ragen_bench.models.api.options import (
    ServerKey,
    ServerOptions,
    checked_url,
    is_here,
    key_of_environment,
    no_url,
)
from ragen_bench.models.api.redaction import without_secrets
from ragen_bench.models.api.reply import models_of
from ragen_bench.models.api.retries import with_retries
from ragen_bench.models.api.served import ServedModel
from ragen_bench.models.base import Message

_CONNECT_SECONDS = 10.0
_LISTED = 10
_UNLISTED = {404, 405, 501}
"""What a server answers that lists no models."""
_DROPPED = 2
"""How often a server that drops the first connection is asked again."""


class OpenAIModel(ServedModel):
    """Asks a server that speaks OpenAI's protocol.

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
        options = options or ServerOptions()
        url = checked_url(options.base_url or os.environ.get("OPENAI_BASE_URL"))
        variable = options.key_variable
        named = key_of_environment(variable) if key is None else ServerKey(key, variable)
        super().__init__(name, options, url, named)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=url,
                api_key=named.text or "none",
                max_retries=0,
                default_headers=dict(options.headers),
                timeout=openai.Timeout(None, connect=_CONNECT_SECONDS),
                # A proxy of the environment cannot reach this machine's own addresses.
                http_client=bounded(openai.DefaultAsyncHttpxClient, trust_env=not is_here(url)),
            )
        except Exception as error:  # of the HTTP library below it, which knows more of URLs
            raise no_url(url) from error

    async def _find(self) -> Mapping[str, Any]:
        served = await with_retries(self._list, self._options, may_pass=_may_pass_at_start)
        if self._name in served or not served:
            return served.get(self._name, {})
        names = ", ".join(sorted(served)[:_LISTED])
        more = f" and {len(served) - _LISTED} more" if len(served) > _LISTED else ""
        raise UserError(f"{self._url} does not serve {self._name!r}; it serves {names}{more}")

    async def _send(
        self, messages: Sequence[Message], settings: Mapping[str, Any], fields: Mapping[str, Any]
    ) -> str:
        try:
            reply = await self._client.chat.completions.with_raw_response.create(
                model=self._name,
                messages=cast(Any, list(messages)),
                extra_body=dict(fields),
                **settings,
            )
        except (openai.APIError, RejectedReplyError) as error:
            raise_fault(error, self._url, self._key)
        content: bytes = reply.content
        return content.decode("utf-8", "replace")

    async def _list(self) -> dict[str, Mapping[str, Any]]:
        try:
            reply = await self._client.models.with_raw_response.list()
        except (openai.APIError, RejectedReplyError) as error:
            if getattr(error, "status_code", None) in _UNLISTED:
                return {}
            raise_fault(error, self._url, self._key)
        body = reply.content.decode("utf-8", "replace")
        return models_of(body, lambda text: without_secrets(text, self._key))


def _may_pass_at_start(error: PassingError) -> bool:
    """Return whether to ask again: where nothing listens, a user should know at once."""
    return error.answered or (error.reached and error.tries <= _DROPPED)
