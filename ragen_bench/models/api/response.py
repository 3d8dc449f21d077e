"""Strict reading of a server's responses: a violation of the protocol fails the try."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.base import Completion
from ragen_envs.core.tool_calls import Call, as_text

_EXCERPT = 60
_MAX_TOKENS = 10**12
"""Far beyond every context; a record with more could not be read again."""


def read_models(body: str, clean: Callable[[str], str] = str) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a list of models, by id; `clean` removes secrets from texts.

    Raises:
        RetryableError: The response is not such a list.
    """
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

    A response without text is an empty completion if the server counted tokens for it: a refusal,
    or thoughts that used up the limit.

    Args:
        body: The response.
        stop: Stop text; "" for none.
        cut_below: A completion that was cut with fewer tokens than these ran out of context.
        clean: Removes secrets from a text.
        calls: Functions were offered; the completion then has the format "tools".

    Raises:
        RetryableError: The response contains no completion.
    """
    response, body = _read_object(body, clean), clean(body)
    prompt_tokens, completion_tokens = _read_usage(body, response.get("usage"))
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise _protocol_error(body, "no answer")
    text = message.get("content")
    tool_calls = _read_calls(message, body) if calls else []
    if text is None and (completion_tokens or tool_calls):
        text = ""
    if not isinstance(text, str):
        raise _protocol_error(body, "an answer without text")
    if tool_calls:
        text = as_text(tool_calls, text)
    # OpenAI's protocol has no field for reasoning; servers have two names.
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    reasoning = reasoning if isinstance(reasoning, str) else ""
    answer, stopped, _ = text.partition(stop) if stop else (text, "", "")
    counts = prompt_tokens, completion_tokens
    if stopped or choice.get("finish_reason") != "length":
        return Completion(answer + stopped, *counts, "stop", reasoning)
    if 0 < completion_tokens < cut_below:
        return Completion("", *counts, "context")
    return Completion(answer, *counts, "length", reasoning)


def _read_calls(message: Mapping[str, Any], body: str) -> list[Call]:
    """Return the calls in a message; the game checks their arguments."""
    listed = message.get("tool_calls") or []
    calls = []
    for call in listed if isinstance(listed, list) else [None]:
        function = call.get("function") if isinstance(call, dict) else None
        fields = function if isinstance(function, dict) else {}
        name, arguments = fields.get("name"), fields.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise _protocol_error(body, "a call without a name and arguments")
        calls.append(Call(name, arguments))
    return calls


def _read_usage(body: str, usage: Any) -> tuple[int, int]:
    """Return the prompt and completion tokens; 0 if the server counts none."""
    if usage is None:
        return 0, 0
    counts = [
        usage.get(name) if isinstance(usage, dict) else None
        for name in ("prompt_tokens", "completion_tokens")
    ]
    prompt, completion = [
        count if type(count) is int and 0 <= count < _MAX_TOKENS else None for count in counts
    ]
    if prompt is None or completion is None:
        raise _protocol_error(body, "an answer whose tokens are miscounted")
    return prompt, completion


def _read_object(body: str, clean: Callable[[str], str]) -> dict[str, Any]:
    try:
        response = _clean_json(json.loads(body), clean)
    except (ValueError, RecursionError):
        raise _protocol_error(clean(body), "no JSON") from None
    if not isinstance(response, dict):
        raise _protocol_error(clean(body), "no JSON object")
    return response


def _clean_json(value: Any, clean: Callable[[str], str], *, names: bool = False) -> Any:
    """Return a JSON value with clean texts; `names` also cleans the names of fields."""
    if isinstance(value, dict):
        parts = {name: _clean_json(part, clean, names=names) for name, part in value.items()}
        return {clean(name): part for name, part in parts.items()} if names else parts
    if isinstance(value, list):
        return [_clean_json(part, clean, names=names) for part in value]
    return clean(value) if isinstance(value, str) else value


def _protocol_error(body: str, content: str) -> RetryableError:
    return RetryableError(f"the server sent {content}: {body[:_EXCERPT]!r}", answered=True)
