"""Limits of a server, the host names that it accepts, and its listening socket."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
"""Names and addresses of the local machine."""
_WAITING = 1024
"""Maximum number of pending connections; a trainer's clients connect at the same time."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server.

    Attributes:
        max_sessions: Maximum number of sessions at a time; other clients are rejected.
        idle_timeout: Seconds without a message after which a session is closed.
        max_message: Maximum characters of a message, or bytes of a request; a longer one closes its
            connection.
        hosts: Allowed names in the header Host, without ports; "*" for any.
        origins: Origins of pages whose scripts may connect, such as "https://example.org", next to
            the server's own; "*" for any.

    Raises:
        ValueError: A limit is out of range, or a host is not a name.
    """

    max_sessions: int = 256
    idle_timeout: float = 600.0
    max_message: int = 1 << 18
    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_sessions", "max_message"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is an int of at least 1, got {value!r}")
        if not 0 < self.idle_timeout < float("inf"):
            raise ValueError(f"idle_timeout is in seconds and above 0, got {self.idle_timeout!r}")
        for host in self.hosts:
            if not host or "/" in host or "*" in host.removeprefix("*.") != "*":
                raise ValueError(
                    f"host {host!r} is not a name; give one as example.org, *.example.org or *"
                )


def hosts_of(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the host names that a server accepts.

    Args:
        host: The listening address.
        allowed: Extra names; "*" for any.

    Raises:
        ValueError: It listens on all addresses of the machine, but no name is allowed.
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
        OSError: The port is in use, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING)


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
