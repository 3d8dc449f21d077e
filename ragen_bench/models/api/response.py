"""Responses of untrusted servers: bounded, not redirected to another server, and read strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.errors import (
    ErrorInReplyError,
    RedirectError,
    RejectedResponseError,
    RetryableError,
)
from ragen_bench.models.api.message import (
    ProtocolError,
    count_tokens,
    read_calls,
    read_content,
    read_finish,
)
from ragen_bench.models.base import Completion, Finish
from ragen_envs.core.tool_calls import as_text

if TYPE_CHECKING:
    import httpx

_Client = TypeVar("_Client")
_MAX_BYTES = 1 << 24
"""Of an unpacked response; the longest completion and list of models are far smaller."""
_MAX_STREAM_BYTES = 1 << 26
"""Of a stream, which repeats some hundred bytes for each token."""
_MAX_REDIRECTS = 5
_ENCODINGS = ("gzip", "deflate")
"""Accepted encodings. They expand a thousandfold at most; others without a bound."""
_ENCODING_HEADERS = {b"content-encoding", b"transfer-encoding", b"content-length"}
_EXCERPT = 60
_PROMPT_FILTERS = ("promptFeedback", "prompt_feedback", "prompt_filter_results")
"""Fields that say why an answer is missing: the provider's filter stopped the prompt."""
_MINIMAX = {1026: "content_filter", 1027: "content_filter", 1039: "context_length_exceeded"}
"""Codes of `base_resp`, MiniMax's field for an error in a reply of HTTP 200."""
_COMMENTS = re.compile(r"\ufeff?(\s*:[^\n]*\n)*")
"""What may stand before a reply's JSON: a byte order mark, and comments of a stream."""
REPLIES: ContextVar[list[httpx.Response]] = ContextVar("replies")
"""Collects the responses to the requests of a task, where a library reads them too."""


class _BoundedClient:
    """Mixed into an asynchronous client of httpx; see `make_client`."""

    async def send(self, request: httpx.Request, **options: object) -> httpx.Response:
        """Send a request, follow redirects on the same server, and return the whole response."""
        options |= {"stream": True, "follow_redirects": False}
        for _ in range(_MAX_REDIRECTS):
            response = await super().send(request, **options)  # type: ignore[misc]
            redirected = response.next_request
            if redirected is None:
                whole = await _read_whole(response)
                REPLIES.get([]).append(whole)
                return whole
            await response.aclose()
            if _origin(redirected.url) != _origin(request.url):
                raise RedirectError(
                    f"sends requests on to {_origin(redirected.url)}; if you trust that server, "
                    "give its address as the base URL"
                )
            request = redirected
        raise RedirectError("sends requests on again and again; correct the base URL")


def make_client(kind: type[_Client], **options: object) -> _Client:
    """Return a bounded client of a kind: `httpx.AsyncClient`, of any version, or a subclass."""
    bounded = type("BoundedClient", (_BoundedClient, kind), {})
    client: _Client = bounded(headers={"Accept-Encoding": ", ".join(_ENCODINGS)}, **options)
    return client


def _origin(url: httpx.URL) -> str:
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


async def _read_whole(response: httpx.Response) -> httpx.Response:
    content = bytearray()
    try:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in (*_ENCODINGS, "identity", ""):
            raise RejectedResponseError(
                f"the server packed its reply as {encoding[:20]!r}, unasked"
            )
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        most = _MAX_STREAM_BYTES if is_stream else _MAX_BYTES
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > most:
                raise RejectedResponseError(f"the server sent more than {most >> 20} MiB")
    finally:
        await response.aclose()
    headers = [
        (name, text) for name, text in response.headers.raw if name.lower() not in _ENCODING_HEADERS
    ]
    return type(response)(
        response.status_code,
        headers=headers,
        content=bytes(content),
        request=response.request,
        extensions=response.extensions,
    )


def read_models(body: str, clean: Callable[[str], str] = str) -> dict[str, JsonObject]:
    """Return the entries of a list of models, by id; `clean` removes secrets from texts."""
    listed = _read_object(body, clean).get("data")
    if not isinstance(listed, list):
        raise _protocol_error(clean(body), "no list of models")
    # Entries are recorded, and their fields may have any names.
    entries = [_clean_json(entry, clean, names=True) for entry in listed if isinstance(entry, dict)]
    return {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}


def read_completion(
    body: str,
    stop: str,
    cut_below: int = 0,
    clean: Callable[[str], str] = str,
    *,
    calls: bool = False,
) -> Completion:
    """Return the completion in a response, up to and including the stop text.

    A response without text is an empty completion if the server says why it ended or counted its
    tokens: a refusal, or thoughts that used up the limit. A completion that was cut with fewer than
    `cut_below` tokens ran out of context. `clean` removes secrets from a text. With `calls`,
    functions were offered, and the completion has the format "tools". A RetryableError says that
    the completion is missing or broken, an ErrorInReplyError that an error stands in its place.
    """
    response, body = _read_object(body, clean), clean(body)
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = response.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not choice and not error and isinstance(base := response.get("base_resp"), dict):
        code = base.get("status_code")
        named = {"code": _MINIMAX[code], "status": 400} if code in _MINIMAX else {}
        error = {"message": base.get("status_msg"), **named} if code else None
    if not choice and not error and any(response.get(name) for name in _PROMPT_FILTERS):
        tokens = count_tokens(response.get("usage"), "", "")
        return Completion("", tokens.prompt, 0, "filtered")
    try:
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise ProtocolError("no answer")
        return _read_choice(choice, message, response.get("usage"), stop, cut_below, calls)
    except (ProtocolError, RecursionError) as problem:
        if error:
            raise ErrorInReplyError(error) from None
        raise _protocol_error(body, str(problem)) from None


def _read_choice(
    choice: JsonObject, message: JsonObject, usage: object, stop: str, cut_below: int, calls: bool
) -> Completion:
    text, thoughts = read_content(message)
    tool_calls = read_calls(message) if calls else []
    is_empty = text is None and not (tool_calls or thoughts or message.get("refusal"))
    if is_empty and not usage and choice.get("finish_reason") is None:
        raise ProtocolError("an answer without text")
    text = as_text(tool_calls, text or "") if tool_calls else text or ""
    answer, stopped, _ = text.partition(stop) if stop else (text, "", "")
    tokens = count_tokens(usage, text, thoughts)
    finish: Finish = "stop" if stopped else read_finish(choice)
    is_short = not tokens.estimated and 0 < tokens.completion < cut_below
    if finish == "context" or (finish == "length" and is_short):
        return Completion("", tokens.prompt, tokens.completion, "context")
    return Completion(
        answer + stopped,
        tokens.prompt,
        tokens.completion,
        finish,
        thoughts,
        tokens.estimated,
        message if calls else None,
    )


def _read_object(body: str, clean: Callable[[str], str]) -> JsonObject:
    try:
        response = _clean_json(json.loads(_COMMENTS.sub("", body, count=1)), clean)
    except (ValueError, RecursionError):
        raise _protocol_error(clean(body), "no JSON") from None
    if not isinstance(response, dict):
        raise _protocol_error(clean(body), "no JSON object")
    return response


def _clean_json(value: object, clean: Callable[[str], str], *, names: bool = False) -> Any:
    """Return a JSON value with clean texts; `names` also cleans the names of fields."""
    if isinstance(value, dict):
        parts = {name: _clean_json(part, clean, names=names) for name, part in value.items()}
        return {clean(name): part for name, part in parts.items()} if names else parts
    if isinstance(value, list):
        return [_clean_json(part, clean, names=names) for part in value]
    return clean(value) if isinstance(value, str) else value


def _protocol_error(body: str, content: str) -> RetryableError:
    return RetryableError(f"the server sent {content}: {body[:_EXCERPT]!r}", answered=True)
