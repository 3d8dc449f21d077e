"""Options of a server: URL, key, retries, headers and extra fields. Needs no extra."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from ragen_bench.errors import UserError

_EXAMPLE = "such as http://127.0.0.1:8000/v1"
SERVER_KEY = "OPENAI_API_KEY"
"""Environment variable with the key of a model's server."""
OPPONENT_KEY = "OPPONENT_API_KEY"
"""Environment variable with the key of `--opponent-base-url`, which is sent no other key."""
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~][ -~]*)")
_FRAMING_HEADERS = {"content-length", "transfer-encoding", "content-type"}
_RESERVED_FIELDS = {
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
    "stream": "--stream",
    "stream_options": "",
    "include_stop_str_in_output": "",
    "no_stop_trim": "",
}
"""Fields that the harness sets, and the options that decide them."""


class ServerKey(NamedTuple):
    """The secrets of a server's requests, which enter no record and no message.

    The text of a missing key is ""; `variable` is the environment variable that holds it.
    `others` are other secrets, such as words of headers.
    """

    text: str
    variable: str = SERVER_KEY
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServerOptions:
    """Connection to a server, and additions to its requests.

    Only `extra_body` is meant to change completions; it is part of the model's identity.

    Attributes:
        base_url: URL where the protocol begins; OPENAI_BASE_URL if None.
        concurrency: Requests in flight.
        timeout: Seconds for one completion.
        retries: Retries of a failed request.
        first_wait: Seconds before the first retry; each later wait is twice as long.
        longest_wait: Maximum wait in seconds.
        key_variable: Environment variable that holds the server's key.
        headers: Extra headers, by name and value; secret.
        extra_body: JSON object with extra fields of each request; "" for none.
        stream: Ask for streamed replies; it changes no completion.
    """

    base_url: str | None = None
    concurrency: int = 8
    timeout: float = 600.0
    retries: int = 7
    first_wait: float = 0.5
    longest_wait: float = 30.0
    key_variable: str = SERVER_KEY
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    extra_body: str = ""
    stream: bool = False


def check_url(url: str | None) -> str:
    """Return a base URL without its last slash; UserError if it is invalid or has a secret."""
    url = (url or "").strip()
    if not url:
        raise UserError(f"openai/NAME needs --base-url (or OPENAI_BASE_URL), {_EXAMPLE}")
    if any(mark in url for mark in "@?#"):  # checked first: an invalid URL may contain a secret too
        raise UserError(
            "the base URL carries a user name, a password or a query; leave them out, and put a "
            f"key into {SERVER_KEY}, or {OPPONENT_KEY} for --opponent-base-url"
        )
    if not is_address(url):
        raise url_error(url)
    return url.rstrip("/")


def is_address(url: str) -> bool:
    """Return whether a text is the URL of a server, by http or https."""
    try:
        parts = urlsplit(url)
        names_server = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(names_server) and url.isascii() and url.isprintable() and " " not in url


def is_loopback(url: str) -> bool:
    """Return whether a base URL names this machine by a loopback address."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_error(url: str) -> UserError:
    """Return the error for a text that is not a base URL."""
    return UserError(f"{url!r} is not the base URL of a server, {_EXAMPLE}")


def read_key(variable: str) -> ServerKey:
    """Return the key in an environment variable, which may be empty or missing."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{variable} holds characters that no key has; copy the key anew")
    return ServerKey(key, variable)


def parse_header(text: str) -> tuple[str, str]:
    """Return the name and the value of `NAME: VALUE`; no message contains the value."""
    parts = _HEADER.fullmatch(text.strip())
    if parts is None:
        raise UserError("--header is 'NAME: VALUE' in ASCII; one that was given is not")
    if parts[1].lower() in _FRAMING_HEADERS:
        raise UserError(f"--header: {parts[1]} follows from the request; leave it out")
    return parts[1], parts[2].strip()


def hide_headers(words: list[str], headers: tuple[str, ...]) -> list[str]:
    """Return the words of a command with "..." for the values of its headers."""
    for header in headers:
        hidden = f"{header.partition(':')[0]}: ..."
        words = [
            word.removesuffix(header) + hidden if word.endswith(header) else word for word in words
        ]
    return words


def make_extra_body(extra_body: str | None, effort: str | None) -> str:
    """Return `--extra-body` and `--reasoning-effort` as canonical JSON; "" for none."""
    try:
        fields = {} if extra_body is None else json.loads(extra_body)
        json.dumps(fields, allow_nan=False)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise UserError("""--extra-body is an object of JSON, such as '{"top_k": 20}'""")
    for name in fields:
        if (option := _RESERVED_FIELDS.get(name)) is not None:
            hint = f"use {option}" if option else "the harness decides on it"
            raise UserError(f"--extra-body: {name} cannot be set there; {hint}")
    if effort == "":
        raise UserError("--reasoning-effort is empty; give it, or leave it out")
    if effort is not None:
        fields["reasoning_effort"] = effort
    return json.dumps(fields, sort_keys=True) if fields else ""
