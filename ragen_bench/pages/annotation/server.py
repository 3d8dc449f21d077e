"""The page on which a rater rates, served on this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from importlib.resources import files
from threading import Lock
from typing import Any

from ragen_bench.pages.annotation.ratings import QUESTIONS, SCALE
from ragen_bench.pages.annotation.session import Session
from ragen_bench.pages.local_page import (
    PageHandler,
    PageServer,
    RefusedError,
    Reply,
    in_json,
    nothing_here,
)


class AnnotationServer(PageServer):
    """Serves one rater on a free port.

    Args:
        session: the rater's.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rating = Lock()
        super().__init__(_Handler)


def serve(session: Session, announce: Callable[[str], object]) -> None:
    """Serve until the process is interrupted.

    Args:
        session: the rater's.
        announce: called with the address.
    """
    with AnnotationServer(session) as server:
        announce(server.url)
        server.serve_forever()


class _Handler(PageHandler):
    server: AnnotationServer

    def get(self, place: str) -> Reply:
        if place == "":
            page = files("ragen_bench.pages.annotation").joinpath("page/page.html").read_bytes()
            return Reply(page, "text/html; charset=utf-8")
        if place == "next":
            return in_json(_next(self.server.session))
        raise nothing_here()

    def post(self, place: str, said: Any) -> Reply:
        if place != "rate":
            raise nothing_here()
        with self.server.rating:
            return self._rate(said)

    def _rate(self, rating: Any) -> Reply:
        session = self.server.session
        waiting = session.waiting()
        if not waiting or not _is_rating(rating):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "that is no rating")
        run, key = waiting[0]
        if rating["episode"] != _name(session):
            # Another tab has rated it meanwhile.
            raise RefusedError(HTTPStatus.CONFLICT, "another episode is due; load the page again")
        ratings = {question: rating["ratings"][question] for question in QUESTIONS}
        session.rate(run, key, ratings, rating["comment"])
        return in_json(_next(session))


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
