"""Options of a server: URL, key, retries. Nothing here needs the extra `openai`."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from ragen_bench.errors import UserError

_EXAMPLE = "such as http://127.0.0.1:8000/v1"


OWN_KEY = "OPENAI_API_KEY"
"""The variable that holds the key of a model's server."""
OPPONENT_KEY = "OPPONENT_API_KEY"
"""That of a server which `--opponent-base-url` names, to which no other key is sent."""


class ServerKey(NamedTuple):
    """What a server wants to see.

    Attributes:
        text: the key, which enters no record and no message; "" if there is none.
        variable: of the environment, which holds it.
        others: further texts that enter no record and no message, as of headers.
    """

    text: str
    variable: str = OWN_KEY
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServerOptions:
    """How a server is reached, and what is added to each request.

    Only `extra_body` is meant to change answers; it is a part of the model's identity.

    Attributes:
        base_url: where the protocol begins; the environment's OPENAI_BASE_URL if None.
        concurrency: requests in flight at once.
        timeout: seconds that one answer may take.
        retries: how often a request that failed is sent again.
        first_wait: seconds before the first retry; each further wait is twice as long.
        longest_wait: seconds that a wait grows to.
        key_variable: of the environment, which holds the server's key.
        headers: further ones, by name and value; they are secrets.
        extra_body: an object of JSON with further fields of each request; "" for none.
    """

    base_url: str | None = None
    concurrency: int = 8
    timeout: float = 600.0
    retries: int = 7
    first_wait: float = 0.5
    longest_wait: float = 30.0
    key_variable: str = OWN_KEY
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    extra_body: str = ""


def checked_url(url: str | None) -> str:
    """Return a base URL without its last slash.

    Raises:
        UserError: if it is empty, not a URL or carries a secret: the URL goes into messages and,
            with the command, into the record.
    """
    url = (url or "").strip()
    if not url:
        raise UserError(f"openai/NAME needs --base-url (or OPENAI_BASE_URL), {_EXAMPLE}")
    if any(mark in url for mark in "@?#"):  # looked for first: a broken URL may hold a secret too
        raise UserError(
            "the base URL carries a user name, a password or a query; leave them out, and put a "
            f"key into {OWN_KEY}, or {OPPONENT_KEY} for --opponent-base-url"
        )
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and url.isascii()
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        usable = False
    if not usable:
        raise no_url(url)
    return url.rstrip("/")


def is_here(url: str) -> bool:
    """Return whether a base URL names this machine by a loopback address."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def no_url(url: str) -> UserError:
    """Return the error for text that is not a base URL."""
    return UserError(f"{url!r} is not the base URL of a server, {_EXAMPLE}")


def key_of_environment(variable: str) -> ServerKey:
    """Return the key in a variable of the environment, which may be empty or not be there.

    Raises:
        UserError: if it cannot stand in a header; the message does not hold it.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError(f"{variable} holds characters that no key has; copy the key anew")
    return ServerKey(key, variable)
