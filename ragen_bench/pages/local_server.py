"""Servers for this machine only: of JSON, of one page and its script's requests, or of a site."""

from __future__ import annotations

import errno
import io
import json
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from socket import socket
from threading import Lock
from typing import BinaryIO, NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.visible import write_out
from ragen_envs.core.local_servers import find_refusal, is_secret, new_secret

MAX_REQUEST_BYTES = 100_000
"""Maximum size of a request body, in bytes; longer ones are not parsed."""
_MAX_DISCARDED = 1 << 24
"""Bytes read of a longer body, since browsers read a reply only after sending everything."""
_CHUNK = 1 << 16
_MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_NO_FRAME = "frame-ancestors 'none'"
_POLICY = f"default-src 'self'; img-src data:; {_NO_FRAME}"
"""Forbids network access, inline scripts and styles, and framing."""


class LoopbackServer(ThreadingHTTPServer):
    """Listens on the loopback address; UserError for a port out of range or in use."""

    port_option = "--port"
    """The option of the command line that chooses the port, for messages."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], port: int) -> None:
        if not 0 <= port <= 65535:
            raise UserError(f"{self.port_option} is between 0 and 65535, got {port}")
        try:
            super().__init__(("127.0.0.1", port), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(
                f"port {port} is not available ({error.strerror}); choose another "
                f"{self.port_option}, 0 for any"
            ) from None

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Ignore clients that left before their reply."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """URL to open."""
        return f"http://127.0.0.1:{self.server_port}/"

    def serve(self, verb: str) -> None:
        """Print what the user can do at the URL, and serve until the process is interrupted."""
        with self:
            write_out(f"{verb} at {self.url} - Ctrl-C ends.\n")
            sys.stdout.flush()
            self.serve_forever()


class SiteServer(LoopbackServer):
    """Serves a directory; a port out of range or in use raises a UserError."""

    def __init__(self, directory: Path, port: int) -> None:
        super().__init__(partial(_SiteHandler, directory=str(directory)), port)


class _LocalHandler(BaseHTTPRequestHandler):
    """Answers requests for a name of this machine, and none of another page's."""

    timeout = 60  # seconds until a silent connection is closed
    without_host: Sequence[str] = ()
    """The Host of a request without one, which comes from no page."""

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        host, origin = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        match find_refusal(host or self.without_host, origin):
            case "host":
                self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "This is for this machine alone")
            case "origin":
                self.send_error(HTTPStatus.FORBIDDEN, "This is not for other pages")
            case None:
                return True
        return False

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the terminal quiet."""


class _SiteHandler(_LocalHandler, SimpleHTTPRequestHandler):
    def send_head(self) -> io.BytesIO | BinaryIO | None:
        try:
            # Not a pipe, which would never end, nor a path with a null.
            place = Path(self.translate_path(self.path))
            if place.is_file() or place.is_dir():
                return super().send_head()
        except (ValueError, OSError):
            pass
        self.send_error(HTTPStatus.NOT_FOUND, "There is nothing here.")
        return None

    def end_headers(self) -> None:
        # A rebuilt site must be visible at once.
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()


class RefusedError(Exception):
    """A refused request: HTTP status, reason in one line, and extra fields of the reply."""

    def __init__(self, status: HTTPStatus, reason: str, **extra: object) -> None:
        super().__init__(reason)
        self.reply = _json_reply({"error": reason, **extra}, status)


def not_found() -> RefusedError:
    """Return the error for an unknown path."""
    return RefusedError(HTTPStatus.NOT_FOUND, "there is nothing here")


class RenderedPage(NamedTuple):
    """A complete page with its own content security policy, see `frame.html`."""

    text: str
    status: HTTPStatus = HTTPStatus.OK


class JsonServer(LoopbackServer):
    """Answers JSON; a subclass handles the requests, which run concurrently.

    The URL contains a random word that pages in a browser of this machine cannot guess.
    """

    max_request_bytes = MAX_REQUEST_BYTES
    """Maximum size of a request body, in bytes; longer ones are not parsed."""

    def __init__(self, handler: Callable[..., JsonHandler], port: int = 0) -> None:
        self.word = new_secret()
        super().__init__(handler, port)

    @property
    def url(self) -> str:
        """URL below which the server answers."""
        return f"{super().url}{self.word}/"

    @abstractmethod
    def get(self, place: str) -> JsonObject:
        """Return the JSON reply to a GET request; an unknown path raises a RefusedError."""

    @abstractmethod
    def post(self, place: str, message: object) -> JsonObject:
        """Return the JSON reply to a message, any JSON value; a refusal raises a RefusedError."""


class _Reply(NamedTuple):
    content: bytes
    media_type: str
    status: HTTPStatus = HTTPStatus.OK
    policy: str = _POLICY


def _json_reply(content: Mapping[str, object], status: HTTPStatus = HTTPStatus.OK) -> _Reply:
    # ASCII, since responses may contain lone surrogates, which UTF-8 does not have.
    return _Reply(json.dumps(content).encode(), "application/json", status)


class JsonHandler(_LocalHandler):
    """Reads the requests of a `JsonServer`, and sends its replies."""

    server: JsonServer
    without_host = ("localhost",)  # the secret is enough

    def do_GET(self) -> None:
        """Answer a GET request."""
        self._send(self._get)

    def do_POST(self) -> None:
        """Answer a POST request."""
        self._send(self._post)

    def _get(self) -> _Reply:
        return _json_reply(self.server.get(self._place()))

    def _post(self) -> _Reply:
        # The body is read first: a browser whose upload is cut off shows no reply.
        message = self._message()
        return _json_reply(self.reply(self._place(), message))

    def reply(self, place: str, message: object) -> JsonObject:
        """Return the reply to a message; a subclass may read the headers for it."""
        return self.server.post(place, message)

    def _place(self) -> str:
        before, word, place = [*self.path.split("/", 2), "", ""][:3]
        if before or not is_secret(word, self.server.word) or self.path.count("/") < 2:
            raise not_found()
        return place

    def _message(self) -> object:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,15}", length):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request does not give its length")
        most = self.server.max_request_bytes
        if int(length) > most:
            left = min(int(length), _MAX_DISCARDED)
            while left > 0:
                left -= len(self.rfile.read(min(left, _CHUNK))) or left
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a request has at most {most:,} bytes, and this one {int(length):,}",
            )
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is not JSON") from None

    def _send(self, reply_of: Callable[[], _Reply]) -> None:
        try:
            reply = reply_of()
        except RefusedError as refusal:
            reply = refusal.reply
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.media_type)
        self.send_header("Content-Length", str(len(reply.content)))
        self.send_header("Content-Security-Policy", reply.policy)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.content)


class PageServer(JsonServer):
    """Serves one page to one user; a subclass handles the requests of its script.

    The server also serves the files of `folder`, with `page.html` unless `page` renders it, those
    of `local_pages`, and the shared styles and scripts. Calls of `get` and `post` never run
    concurrently.
    """

    def __init__(self, folder: Traversable | None, port: int = 0) -> None:
        pages = files("ragen_bench.pages")
        templates = pages / "templates"
        shared = templates / "style", templates / "script", pages / "local_pages"
        places = (*shared, folder) if folder else ()
        self.files = {file.name: file for place in places for file in place.iterdir()}
        self.lock = Lock()
        super().__init__(_PageHandler, port)

    def page(self, place: str) -> RenderedPage | None:
        """Render a page, or return None; may run concurrently with other requests."""


class _PageHandler(JsonHandler):
    server: PageServer

    def _get(self) -> _Reply:
        place = self._place()
        if page := self.server.page(place):
            # Names may hold lone surrogates.
            content = page.text.encode(errors="backslashreplace")
            return _Reply(content, _MEDIA_TYPES["html"], page.status, _NO_FRAME)
        file = self.server.files.get(place or "page.html")
        if file is None:
            with self.server.lock:
                return _json_reply(self.server.get(place))
        return _Reply(file.read_bytes(), _MEDIA_TYPES[file.name.rpartition(".")[2]])

    def reply(self, place: str, message: object) -> JsonObject:
        with self.server.lock:
            return super().reply(place, message)
