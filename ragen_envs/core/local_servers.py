"""Checks of requests to a server of this machine, the same for all servers of the suite.

Any page in the user's browser can send requests to this machine, also under a name of its own that
it lets point here. So the Host must be a name of the server, and the Origin, which browsers add,
must be the server's own. A request that acts or reads something private also needs the secret.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
"""Names and addresses of the local machine."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[^\s:/@\[\]]{1,255})(?::[0-9]{1,5})?", re.ASCII)


def find_refusal(
    host: Sequence[str],
    origin: Sequence[str],
    *,
    hosts: Sequence[str] = LOOPBACK,
    origins: Sequence[str] = (),
) -> Literal["host", "origin"] | None:
    """Return the header for which a request is refused; None for an allowed request.

    Args:
        host: Values of the header Host, of which there must be one.
        origin: Values of the header Origin. Requests without one are not from a page.
        hosts: Names of the server without ports; "*.example.org" for all below one, "*" for any.
            The port is free, since users tunnel.
        origins: Origins of pages that may ask next to the server's own; "*" for any.
    """
    if "*" not in hosts and not (len(host) == 1 and _is_named(host[0], hosts)):
        return "host"
    if not origin or "*" in origins:
        return None
    if len(origin) == 1 and (origin[0] in origins or _is_own(origin[0], host)):
        return None
    return "origin"


def new_secret() -> str:
    """Return a random word of 128 bits for one start of a server."""
    return secrets.token_urlsafe(16)


def is_secret(given: str, secret: str) -> bool:
    """Return whether a request gives the secret, in a time that does not depend on it."""
    return hmac.compare_digest(given.encode(errors="replace"), secret.encode())


def _is_named(host: str, names: Sequence[str]) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1].lower()
    return any(
        name == each.lower() or (each.startswith("*.") and name.endswith(each[1:].lower()))
        for each in names
    )


def _is_own(origin: str, host: Sequence[str]) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and [parts.netloc.lower()] == [
        each.lower() for each in host
    ]
