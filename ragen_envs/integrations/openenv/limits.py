"""The limits of a server, with defaults that are safe on a machine of one's own."""

from __future__ import annotations

from dataclasses import dataclass

LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
"""The names under which a machine reaches itself."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server allows.

    Attributes:
        max_sessions: at once; a further client is told that the server is full.
        idle_timeout: seconds without a message, after which a session is closed.
        max_message: characters of a message, or bytes of a request; a longer one ends the
            connection that it came by.
        hosts: the names in the header Host that are answered, without their ports; "*" for any.
        origins: of pages whose scripts may connect, such as "https://example.org", besides
            those of the server itself; "*" for any.

    Raises:
        ValueError: for a limit that is out of range, or a host that is no name.
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
