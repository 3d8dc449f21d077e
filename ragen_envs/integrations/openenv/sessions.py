"""Sessions of a server that many clients share: who makes room for whom when it is full."""

from __future__ import annotations

import ipaddress
import time
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from openenv.core.env_server import Environment
from openenv.core.env_server.exceptions import SessionCapacityError
from openenv.core.env_server.http_server import HTTPEnvServer

_UNUSED_SECONDS, _IDLE_SECONDS = 2.0, 60.0
"""Seconds after which a connection without a message, or without a step, makes room."""


@dataclass(frozen=True)
class Client:
    """Where a request comes from, and whether it is a connection, which ends with its client."""

    address: str = ""
    is_connection: bool = False


def client_of(address: str, *, is_connection: bool) -> Client:
    """Return the client of an address; addresses of IPv6 count by their network of 64 bits."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return Client(address, is_connection)
    if parsed.version == 6:
        address = str(ipaddress.ip_network((int(parsed), 64), strict=False))
    return Client(address, is_connection)


CLIENT: ContextVar[Client] = ContextVar("client")
"""The client of the request that is served; the server's middleware sets it."""


@dataclass(frozen=True)
class Session:
    """A session, the seconds since its last reset or step, and its numbers of those."""

    client: Client
    idle: float
    is_reset: bool
    steps: int

    def is_of(self, client: Client) -> bool:
        """Return whether it is of a client's address."""
        return self.client.address == client.address


def choose_victim(sessions: Mapping[str, Session], newcomer: Client) -> str | None:
    """Return the session of a full server that makes room for a newcomer; None refuses it.

    First come sessions that a request made and nobody has connected to. A connection makes room
    without a message for 2 seconds, or without a step for 60; at once if its address has more
    sessions than the newcomer's, and with steps after 60 idle seconds. Within these the address
    with the most sessions comes first, and the session that is idle for the longest time.
    """
    counts = Counter(session.client.address for session in sessions.values())
    share = counts[newcomer.address] + 1

    def rank(session: Session) -> int | None:
        is_large = counts[session.client.address] > share
        if not session.client.is_connection and not session.steps:
            return 0
        if not newcomer.is_connection:
            return None
        if not session.steps:
            patience = _IDLE_SECONDS if session.is_reset else _UNUSED_SECONDS
            return 1 + session.is_reset if is_large or session.idle > patience else None
        return 3 if is_large and session.idle > _IDLE_SECONDS else None

    ranked = [
        (kind, -counts[session.client.address], -session.idle, name)
        for name, session in sessions.items()
        if (kind := rank(session)) is not None
    ]
    return min(ranked)[-1] if ranked else None


class SharedServer(HTTPEnvServer):  # type: ignore[misc]  # which has no types
    """OpenEnv's server, in which sessions without a step make room for new clients.

    `max_per_client` is the maximum number of sessions of one address.
    """

    def __init__(self, *arguments: object, max_per_client: int | None, **named: object) -> None:
        super().__init__(*arguments, **named)
        self._max_per_client = max_per_client or self._max_concurrent_envs
        self._clients: dict[str, Client] = {}
        self._reset: set[str] = set()

    async def _create_session(self) -> tuple[str, Environment]:
        client = CLIENT.get(Client())
        while True:
            sessions = self._described_sessions()
            own = {name: each for name, each in sessions.items() if each.is_of(client)}
            try:
                if len(own) >= self._max_per_client:
                    sessions = own
                    raise SessionCapacityError(len(own), self._max_per_client)
                created: tuple[str, Environment] = await super()._create_session()
            except SessionCapacityError:
                victim = choose_victim(sessions, client)
                if victim is None:
                    raise
                await self._destroy_session(victim)
            else:
                self._clients[created[0]] = client
                return created

    async def _destroy_session(self, session_id: str) -> None:
        self._clients.pop(session_id, None)
        self._reset.discard(session_id)
        await super()._destroy_session(session_id)

    def _update_session_activity(self, session_id: str, increment_step: bool = False) -> None:
        super()._update_session_activity(session_id, increment_step)
        if session_id in self._clients:
            self._reset.add(session_id)

    def _described_sessions(self) -> dict[str, Session]:
        now = time.time()
        found = {}
        for name, info in self._session_info.items():
            client = self._clients.get(name, Client())
            if name in self._session_websocket_attachments:
                client = Client(client.address, is_connection=True)
            idle = now - info.last_activity_at
            found[name] = Session(client, idle, name in self._reset, info.step_count)
        return found
