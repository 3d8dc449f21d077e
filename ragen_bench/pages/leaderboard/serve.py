"""The built site for a look on this machine alone."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from ragen_bench.pages.loopback import LoopbackServer


class SiteServer(LoopbackServer):
    """Serves a directory on the loopback address.

    Args:
        directory: the site.
        port: 0 for a free one.

    Raises:
        UserError: if the port cannot be had.
    """

    daemon_threads = True

    def __init__(self, directory: Path, port: int) -> None:
        super().__init__(partial(_Handler, directory=str(directory)), port)


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        # A site that was built anew is seen at once.
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""
