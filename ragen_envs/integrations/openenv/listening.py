"""The listening socket of a server, and the host names that it accepts."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from ragen_envs.integrations.openenv.limits import LOOPBACK

_WAITING = 1024
"""Maximum number of pending connections; a trainer's clients connect at the same time."""


def hosts_of(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the host names that a server accepts.

    Args:
        host: The listening address.
        allowed: Extra names; "*" for any.

    Raises:
        ValueError: If it listens on all addresses of the machine, but no name is allowed.
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
    """Return a listening socket; port 0 selects a free one.

    Raises:
        OSError: If the port is in use, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING)


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
