"""Where a server listens, and under which names it answers there."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from ragen_envs.integrations.openenv.limits import LOOPBACK

_WAITING = 1024
"""Connections that may wait to be taken up, as clients of a trainer come all at once."""


def hosts_of(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a server answers to.

    Args:
        host: where it listens.
        allowed: further names; "*" for any.

    Raises:
        ValueError: if it listens on every address of the machine and no name is allowed.
    """
    names = (*LOOPBACK, *allowed)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (*names, host)
    if address.is_unspecified:
        if not allowed:
            raise ValueError(
                f"on {host} the server is reached from elsewhere: give the name under which, "
                "--allow-host NAME, or --allow-host '*' for any"
            )
        return names
    return (*names, host, f"[{host}]") if address.version == 6 else (*names, host)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises:
        OSError: if the port is in use, or the host is none of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING)


def url_of(listening: socket.socket) -> str:
    """Return the address of a socket that listens."""
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
