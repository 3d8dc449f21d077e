"""The gateway's HTTP server."""

from __future__ import annotations

import re
from contextlib import ExitStack

from ragen_bench.errors import UserError
from ragen_bench.gateway.conversations import Conversations
from ragen_bench.gateway.playing import Player
from ragen_bench.gateway.requests import read_chat, read_play, refuse
from ragen_bench.gateway.table import GatewaySettings, Table
from ragen_bench.json_types import JsonObject
from ragen_bench.pages.local_server import JsonHandler, JsonServer, not_found
from ragen_bench.runs.atomic import lock_folder
from ragen_envs.core.local_servers import LOOPBACK

_LISTED = 256
"""Maximum number of instances in the list of models."""
_BEARER = re.compile("Bearer +(.+)")


class GatewayServer(JsonServer):
    """Plays episodes (`play`), answers conversations (`v1`), shows `results`."""

    max_request_bytes = 16 << 20  # a whole conversation
    request_queue_size = 128  # trainers start all rollouts of a step at once
    port_option = "--listen 127.0.0.1:PORT"

    def __init__(self, settings: GatewaySettings, port: int = 0) -> None:
        self._held = ExitStack()
        self._held.enter_context(lock_folder(settings.out.resolve()))
        try:
            self.table = Table(settings)
            self._player, self._conversations = Player(self.table), Conversations(self.table)
            super().__init__(_Handler, port)
        except BaseException:
            self._held.close()
            raise

    def get(self, place: str) -> JsonObject:
        """Return the summary of the results, or the names that `v1` takes as a model."""
        if place == "results":
            return self.table.results.summary()
        if place == "v1/models":
            return _list_models(min(self.table.instances, _LISTED))
        raise not_found()

    def post(self, place: str, message: object) -> JsonObject:
        """Play an episode."""
        if place != "play":
            raise not_found()
        return self._player.play(read_play(message))

    def chat(self, key: str, message: object) -> JsonObject:
        """Return the game's reply in the conversation of an API key."""
        return self._conversations.reply(key, read_chat(message))

    def service_actions(self) -> None:
        """End silent conversations; called twice a second."""
        self._conversations.end_silent(self.table.settings.timeout)

    def server_close(self) -> None:
        """Close the server, and keep the turns of running conversations."""
        super().server_close()
        self._conversations.close()
        self._held.close()


def _list_models(instances: int) -> JsonObject:
    """Return the first instances in the form of OpenAI's list of models."""
    of_all = {"object": "model", "created": 0, "owned_by": "ragen-bench"}
    return {"object": "list", "data": [{"id": str(one), **of_all} for one in range(instances)]}


class _Handler(JsonHandler):
    server: GatewayServer
    protocol_version = "HTTP/1.1"  # one connection for all requests of an agent
    wbufsize = -1  # a reply in one piece, which the client does not wait for

    def reply(self, place: str, message: object) -> JsonObject:
        if place != "v1/chat/completions":
            return super().reply(place, message)
        key = _BEARER.fullmatch(self.headers.get("Authorization", ""))
        if key is None:
            raise refuse("the API key is missing, which names the conversation; send any word")
        return self.server.chat(key[1], message)


def parse_address(listen: str) -> int:
    """Return the port of a loopback address; UserError for another address."""
    host, _, port = listen.rpartition(":")
    if host not in LOOPBACK or not re.fullmatch("[0-9]{1,5}", port):
        raise UserError(
            f"--listen is 127.0.0.1:PORT, got {listen!r}; for other machines, tunnel to this one"
        )
    return int(port)
