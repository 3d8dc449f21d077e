"""The page on which a rater rates, served on this machine alone."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from typing import Any

from ragen_bench.annotation.ratings import QUESTIONS, SCALE
from ragen_bench.annotation.session import Session

_LONGEST_REQUEST = 100_000


class AnnotationServer(ThreadingHTTPServer):
    """Serves one rater on a free port of the loopback address.

    The address holds a random word: another page in the same browser cannot guess it. Every
    connection has its thread, as browsers open some on which they ask nothing.

    Args:
        session: the rater's.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.word = secrets.token_urlsafe(16)
        self.rating = Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_port}/{self.word}/"


def serve(session: Session, announce: Callable[[str], object]) -> None:
    """Serve until the process is interrupted.

    Args:
        session: the rater's.
        announce: called with the address.
    """
    with AnnotationServer(session) as server:
        announce(server.url)
        server.serve_forever()


class _Handler(BaseHTTPRequestHandler):
    server: AnnotationServer

    def do_GET(self) -> None:
        if self.path == f"/{self.server.word}/":
            page = files("ragen_bench.annotation").joinpath("page.html").read_bytes()
            self._send(HTTPStatus.OK, page, "text/html; charset=utf-8")
        elif self.path == f"/{self.server.word}/next":
            self._send_json(_next(self.server.session))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def do_POST(self) -> None:
        if self.path != f"/{self.server.word}/rate":
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")
            return
        said = self._body()
        with self.server.rating:
            self._rate(said)

    def _rate(self, said: dict[str, Any] | None) -> None:
        waiting = self.server.session.waiting()
        if said is None or not waiting:
            self._refuse(HTTPStatus.BAD_REQUEST, "that is no rating")
            return
        run, key = waiting[0]
        if said["episode"] != _name(self.server.session):
            # Another tab has rated it meanwhile.
            self._refuse(HTTPStatus.CONFLICT, "another episode is due; load the page again")
            return
        ratings = {question: said["ratings"][question] for question in QUESTIONS}
        self.server.session.rate(run, key, ratings, said["comment"])
        self._send_json(_next(self.server.session))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""

    def _body(self) -> dict[str, Any] | None:
        """Return what was sent, None if it is no rating."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LONGEST_REQUEST:
            return None
        try:
            said = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return said if _is_rating(said) else None

    def _send_json(self, content: dict[str, Any]) -> None:
        # ASCII, since answers may hold what UTF-8 does not.
        self._send(HTTPStatus.OK, json.dumps(content).encode(), "application/json")

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._send(status, json.dumps({"error": reason}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)


def _next(session: Session) -> dict[str, Any]:
    """Return what the page shows: the next episode, the questions and how many are left."""
    waiting = session.waiting()
    shown: dict[str, Any] = {
        "rater": session.rater,
        "done": len(session.chosen) - len(waiting),
        "of": len(session.chosen),
        "questions": QUESTIONS,
        "scale": SCALE,
    }
    if waiting:
        shown |= {"episode": _name(session), **asdict(session.trace(*waiting[0]))}
    return shown


def _name(session: Session) -> int:
    """Return the number of the episode that is due, which tells nothing of who played it."""
    return session.chosen.index(session.waiting()[0])


def _is_rating(said: Any) -> bool:
    if not isinstance(said, dict) or said.keys() != {"episode", "ratings", "comment"}:
        return False
    ratings = said["ratings"]
    return (
        isinstance(said["comment"], str)
        and isinstance(ratings, dict)
        and ratings.keys() == QUESTIONS.keys()
        and all(type(level) is int and 0 <= level < len(SCALE) for level in ratings.values())
    )
