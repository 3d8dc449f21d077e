"""A server that this machine alone can reach."""

from __future__ import annotations

import errno
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ragen_bench.errors import UserError


class LoopbackServer(ThreadingHTTPServer):
    """Listens on the loopback address, with a thread for each connection.

    Args:
        handler: makes what serves a request.
        port: 0 for a free one.

    Raises:
        UserError: if the port cannot be had.
    """

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], port: int) -> None:
        if not 0 <= port <= 65535:
            raise UserError(f"--port is between 0 and 65535, got {port}")
        try:
            super().__init__(("127.0.0.1", port), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(
                f"port {port} cannot be had ({error.strerror}); choose another --port, 0 for any"
            ) from None

    @property
    def url(self) -> str:
        """Where what it serves begins."""
        return f"http://127.0.0.1:{self.server_port}/"
