"""The built site for a look on this machine alone."""

from __future__ import annotations

import errno
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError


class SiteServer(ThreadingHTTPServer):
    """Serves a directory on the loopback address.

    Args:
        directory: the site.
        port: 0 for a free one.

    Raises:
        UserError: if the port cannot be had.
    """

    daemon_threads = True

    def __init__(self, directory: Path, port: int) -> None:
        if not 0 <= port <= 65535:
            raise UserError(f"--port is between 0 and 65535, got {port}")
        try:
            super().__init__(("127.0.0.1", port), partial(_Handler, directory=str(directory)))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(
                f"port {port} cannot be had ({error.strerror}); choose another --port, 0 for any"
            ) from None

    @property
    def url(self) -> str:
        """Where the site is."""
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        # A site that was built anew is seen at once.
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""
