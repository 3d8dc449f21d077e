"""A page that is served on this machine alone, to one person, with what its script asks for."""

from __future__ import annotations

import json
import re
import secrets
import sys
from abc import abstractmethod
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from ragen_bench.pages.loopback import LoopbackServer

LONGEST_REQUEST = 100_000
"""Bytes of a request's body that are read as one."""
_THROWN_AWAY = 1 << 24
"""Bytes of a longer one that are taken in: its sender reads no reply before all is sent."""
_CHUNK = 1 << 16
# Nothing from a network, and no page around this one; texts never become markup.
_POLICY = "default-src 'self' 'unsafe-inline'; img-src data:; frame-ancestors 'none'"


class Reply(NamedTuple):
    """What a request gets.

    Attributes:
        content: its bytes.
        kind: their media type.
        status: of the reply.
    """

    content: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK


class RefusedError(Exception):
    """A request that cannot be served.

    Args:
        status: of the reply.
        reason: what is wrong, in one line.
        more: what the reply says beside it.
    """

    def __init__(self, status: HTTPStatus, reason: str, **more: Any) -> None:
        super().__init__(reason)
        self.reply = in_json({"error": reason, **more}, status)


def in_json(content: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Reply:
    """Return a reply of JSON.

    Args:
        content: what it says.
        status: of the reply.
    """
    # ASCII, since answers may hold what UTF-8 does not.
    return Reply(json.dumps(content).encode(), "application/json", status)


class PageServer(LoopbackServer):
    """Serves a page on the loopback address.

    The address holds a random word: another page in the same browser cannot guess it. Every
    connection has its thread, as browsers open some on which they ask nothing.

    Args:
        handler: what serves the requests.
        port: 0 for a free one.

    Raises:
        UserError: if the port cannot be had.
    """

    def __init__(self, handler: type[PageHandler], port: int = 0) -> None:
        self.word = secrets.token_urlsafe(16)
        super().__init__(handler, port)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{super().url}{self.word}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a tab that was closed before it had its reply."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class PageHandler(BaseHTTPRequestHandler):
    """Reads requests below the server's word; a subclass serves them."""

    server: PageServer
    timeout = 60  # seconds: a connection that is silent for longer is closed

    @abstractmethod
    def get(self, place: str) -> Reply:
        """Return what lies at a place, which is the path behind the word.

        Raises:
            RefusedError: if there is nothing.
        """

    @abstractmethod
    def post(self, place: str, said: Any) -> Reply:
        """Return the reply to something that was said, JSON of any form.

        Raises:
            RefusedError: if it cannot be said, there or now.
        """

    def do_GET(self) -> None:
        """Serve what is asked for."""
        self._serve(lambda: self.get(self._place()))

    def do_POST(self) -> None:
        """Take what is said."""
        self._serve(self._post)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""

    def _post(self) -> Reply:
        # First what was sent, wherever to: who is cut off while sending sees no reply.
        content = self._body()
        return self.post(self._place(), content)

    def _place(self) -> str:
        before, word, place = self.path.partition(f"/{self.server.word}/")
        if before or not word:
            raise nothing_here()
        return place

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,15}", length):
            raise RefusedError(
                HTTPStatus.LENGTH_REQUIRED, "the request does not say how long it is"
            )
        if int(length) > LONGEST_REQUEST:
            self._throw_away(min(int(length), _THROWN_AWAY))
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a request has at most {LONGEST_REQUEST:,} bytes, and this one {int(length):,}",
            )
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is no JSON") from None

    def _throw_away(self, length: int) -> None:
        while length > 0:
            chunk = self.rfile.read(min(length, _CHUNK))
            length -= len(chunk) or length

    def _serve(self, reply_of: Callable[[], Reply]) -> None:
        try:
            reply = reply_of()
        except RefusedError as refusal:
            reply = refusal.reply
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(reply.content)


def nothing_here() -> RefusedError:
    """Return what to raise where nothing is served."""
    return RefusedError(HTTPStatus.NOT_FOUND, "there is nothing here")
