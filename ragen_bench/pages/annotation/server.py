"""The server of the annotation page."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from ragen_bench.pages.annotation.ratings import QUESTIONS, SCALE
from ragen_bench.pages.annotation.session import Session
from ragen_bench.pages.local_server import PageServer, RefusedError, not_found


class AnnotationServer(PageServer):
    """Serves one rater on a free port.

    Args:
        session: Session of the rater.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        super().__init__(files("ragen_bench.pages.annotation") / "page")

    def get(self, place: str) -> dict[str, Any]:
        """Return the next episode."""
        if place != "next":
            raise not_found()
        return _next(self.session)

    def post(self, place: str, message: Any) -> dict[str, Any]:
        """Record the rating of the current episode; return the next one."""
        if place != "rate":
            raise not_found()
        waiting = self.session.waiting()
        if not waiting or not _is_rating(message):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is not a rating")
        run, key = waiting[0]
        if message["episode"] != _number(self.session):
            # Another tab has rated this episode.
            raise RefusedError(HTTPStatus.CONFLICT, "another episode is due; load the page again")
        ratings = {question: message["ratings"][question] for question in QUESTIONS}
        self.session.rate(run, key, ratings, message["comment"])
        return _next(self.session)


def _next(session: Session) -> dict[str, Any]:
    """Return the state of the page: the next episode, the questions and the progress."""
    waiting = session.waiting()
    state: dict[str, Any] = {
        "rater": session.rater,
        "done": len(session.chosen) - len(waiting),
        "of": len(session.chosen),
        "questions": QUESTIONS,
        "scale": SCALE,
    }
    if waiting:
        state |= {"episode": _number(session), **asdict(session.trace(*waiting[0]))}
    return state


def _number(session: Session) -> int:
    """Return the number of the next episode, which does not reveal the model."""
    return session.chosen.index(session.waiting()[0])


def _is_rating(message: Any) -> bool:
    if not isinstance(message, dict) or message.keys() != {"episode", "ratings", "comment"}:
        return False
    ratings = message["ratings"]
    return (
        isinstance(message["comment"], str)
        and isinstance(ratings, dict)
        and ratings.keys() == QUESTIONS.keys()
        and all(type(level) is int and 0 <= level < len(SCALE) for level in ratings.values())
    )
