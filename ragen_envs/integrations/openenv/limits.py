"""The limits of a server, with safe defaults for a local machine."""

from __future__ import annotations

from dataclasses import dataclass

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
"""Names and addresses of the local machine."""


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
        ValueError: If a limit is out of range, or a host is not a name.
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
                    f"host {host!r} is no name; give one as example.org, *.example.org or *"
                )
