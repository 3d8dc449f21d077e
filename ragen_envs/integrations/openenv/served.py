"""What a server offers, checked before clients connect, its limits and its listening socket."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragen_envs.core.instances import Split
from ragen_envs.core.local_servers import LOOPBACK
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode

OPEN_SPLITS: tuple[Split, ...] = ("train", "val", "test")
"""Default splits of a game of this suite; the sealed one must be named."""
ENDLESS = 1 << 53
"""Reported size of an infinite split, the largest exact integer of JSON readers."""
_WAITING = 1024
"""Maximum number of pending connections; a trainer's clients connect at the same time."""


class RefusedError(ValueError):
    """The client's request is invalid."""


class FailedError(RuntimeError):
    """The environment raised an error, whose text is hidden from the client."""


@dataclass(frozen=True)
class Served:
    """An environment, its splits, and how many instances each has.

    Attributes:
        env: Id in Gymnasium's registry, or MODULE:ID to import the module that registers it.
        sizes: Number of instances of each served split; the first split is the default.
        options: Extra arguments of the environment.
        ours: True for a game of this suite, whose turns take well under a millisecond.
    """

    env: str
    response_format: ResponseFormat
    sizes: Mapping[Split, int]
    options: Mapping[str, object]
    about: str
    ours: bool

    @classmethod
    def of(
        cls,
        env: str,
        splits: Sequence[Split] = (),
        response_format: ResponseFormat = "think",
        options: Mapping[str, object] | None = None,
    ) -> Served:
        """Start an episode of each split, which also loads the game's data files.

        The splits are by default train, val and test of a game of this suite, and train of a
        third-party environment.

        Raises:
            ValueError: The environment cannot be made, is not a text environment, or a sealed
                split lacks its key.
        """
        options = dict(options or {})
        first = Episode(env, splits[0] if splits else "train", response_format, **options)
        inner = first.env.unwrapped
        ours = isinstance(inner, TextEnv)
        chosen = tuple(dict.fromkeys(splits)) or (OPEN_SPLITS if ours else ("train",))
        sizes: dict[Split, int] = {}
        for split in chosen:
            is_first = split == chosen[0]
            episode = first if is_first else Episode(env, split, response_format, **options)
            episode.reset(0)
            sizes[split] = episode.instances or ENDLESS
            episode.close()
        about = (type(inner).__doc__ or type(inner).__name__).strip().partition("\n")[0]
        return cls(env, response_format, sizes, options, about, ours)

    @property
    def name(self) -> str:
        """Name of the environment in paths, see `served_name`."""
        return served_name(self.env)

    @property
    def default(self) -> Split:
        """Split of a reset without a split."""
        return next(iter(self.sizes))


def served_name(env: str) -> str:
    """Return an id in OpenEnv's naming: "ragen/Sokoban-v0" is "ragen_sokoban_v0"."""
    return re.sub(r"[^a-z0-9]+", "_", env.rpartition(":")[2].lower()).strip("_")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server.

    Attributes:
        max_sessions: Maximum number of sessions at a time; other clients are rejected.
        max_per_client: Maximum number of sessions of one address; by default, all of them.
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
    max_per_client: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_sessions", "max_message", "max_per_client"):
            value = getattr(self, name)
            if value is None and name == "max_per_client":
                continue
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
    """Return the host names that a server accepts, with the allowed ones; "*" stands for any.

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
    """Return a listening socket; port 0 selects a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING)


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
