"""Additions to each request: headers, which are secrets, and fields, which are recorded."""

from __future__ import annotations

import json
import re

from ragen_bench.errors import UserError

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~][ -~]*)")
_FRAMING = {"content-length", "transfer-encoding", "content-type"}
_OURS = {
    "model": "MODEL",
    "messages": "--history and --format",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "max_tokens": "--max-tokens",
    "max_completion_tokens": "--max-tokens",
    "seed": "--seed",
    "n": "--samples",
    "reasoning_effort": "--reasoning-effort",
    "grammar": "--constrain",
    "regex": "--constrain",
    "structured_outputs": "--constrain",
    "stop": "",
    "stream": "",
    "include_stop_str_in_output": "",
    "no_stop_trim": "",
}
"""Fields that the harness sets, and the options that set them."""


def header_of(text: str) -> tuple[str, str]:
    """Return the name and the value of a header that was typed as `NAME: VALUE`.

    Raises:
        UserError: if it is none; the message does not hold the value.
    """
    parts = _HEADER.fullmatch(text.strip())
    if parts is None:
        raise UserError("--header is 'NAME: VALUE' in ASCII; one that was given is not")
    if parts[1].lower() in _FRAMING:
        raise UserError(f"--header: {parts[1]} follows from the request; leave it out")
    return parts[1], parts[2].strip()


def secrets_of(headers: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the words of headers, of which those that are secrets must not come back."""
    return tuple(word for _, value in headers for word in value.split())


def without_headers(words: list[str], headers: tuple[str, ...]) -> list[str]:
    """Return the words of a command with "..." for the values of its headers."""
    for header in headers:
        shown = f"{header.partition(':')[0]}: ..."
        words = [
            word.removesuffix(header) + shown if word.endswith(header) else word for word in words
        ]
    return words


def fields_of(extra_body: str | None, effort: str | None) -> str:
    """Return the further fields of each request as JSON in a fixed form; "" for none.

    Args:
        extra_body: what `--extra-body` holds.
        effort: what `--reasoning-effort` says.

    Raises:
        UserError: if it is not an object of JSON, or sets what another option sets.
    """
    try:
        fields = {} if extra_body is None else json.loads(extra_body)
        json.dumps(fields, allow_nan=False)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise UserError("""--extra-body is an object of JSON, such as '{"top_k": 20}'""")
    for name in fields:
        if name in _OURS:
            hint = f"use {_OURS[name]}" if _OURS[name] else "the harness decides on it"
            raise UserError(f"--extra-body: {name} cannot be set there; {hint}")
    if effort == "":
        raise UserError("--reasoning-effort is empty; give it, or leave it out")
    if effort is not None:
        fields["reasoning_effort"] = effort
    return json.dumps(fields, sort_keys=True) if fields else ""
