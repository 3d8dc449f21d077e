"""Chooses the server of each conversation, within a process that plays.

verl starts a process for its router, which imports verl; with this class it imports nothing heavy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cachetools import LRUCache

_REMEMBERED = 10_000
"""Conversations whose server is known; more than an iteration has."""


class Router:
    """Sends all turns of a conversation to one server, and a new one to the least busy server."""

    def __init__(self, servers: Mapping[str, Any], settings: object = None) -> None:  # noqa: ARG002 - verl's
        self._servers = dict(servers)
        self._busy = Counter(dict.fromkeys(servers, 0))
        self._of_conversation: LRUCache[str, str] = LRUCache(_REMEMBERED)

    def acquire_server(self, request_id: str) -> tuple[str, Any]:
        server = self._of_conversation.get(request_id)
        if server is None:
            server = min(self._busy, key=self._busy.__getitem__)
            self._of_conversation[request_id] = server
        self._busy[server] += 1
        return server, self._servers[server]

    def release_server(self, server_id: str) -> None:
        self._busy[server_id] -= 1

    def require_acquire_fields(self) -> list[str]:
        return []

    def require_release_fields(self) -> list[str]:
        return []
