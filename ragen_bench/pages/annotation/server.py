"""The server of the annotation page."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from importlib.resources import files
from typing import TypeGuard

from ragen_bench.json_types import JsonObject
from ragen_bench.pages.annotation.session import QUESTIONS, SCALE, Session
from ragen_bench.pages.local_server import PageServer, RefusedError, not_found


class AnnotationServer(PageServer):
    """Serves one rater on a free port."""

    def __init__(self, session: Session) -> None:
        self.session = session
        super().__init__(files("ragen_bench.pages.annotation") / "page")

    def get(self, place: str) -> JsonObject:
        """Return the state of the page: the next episode, the questions and the progress."""
        if place != "next":
            raise not_found()
        session, waiting = self.session, self.session.waiting()
        state: JsonObject = {
            "rater": session.rater,
            "done": len(session.chosen) - len(waiting),
            "of": len(session.chosen),
            "questions": QUESTIONS,
            "scale": SCALE,
        }
        if waiting:
            # The number of the episode does not reveal the model.
            state["episode"] = session.chosen.index(waiting[0])
            state |= asdict(session.trace(*waiting[0]))
        return state

    def post(self, place: str, message: object) -> JsonObject:
        """Record the rating of the current episode; return the next one."""
        if place != "rate":
            raise not_found()
        waiting = self.session.waiting()
        if not waiting or not _is_rating(message):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is not a rating")
        if message["episode"] != self.session.chosen.index(waiting[0]):
            # Another tab has rated this episode.
            raise RefusedError(HTTPStatus.CONFLICT, "another episode is due; load the page again")
        ratings = {question: message["ratings"][question] for question in QUESTIONS}
        self.session.rate(*waiting[0], ratings, message["comment"])
        return self.get("next")


def _is_rating(message: object) -> TypeGuard[JsonObject]:
    if not isinstance(message, dict) or message.keys() != {"episode", "ratings", "comment"}:
        return False
    ratings = message["ratings"]
    return (
        isinstance(message["comment"], str)
        and isinstance(ratings, dict)
        and ratings.keys() == QUESTIONS.keys()
        and all(type(level) is int and 0 <= level < len(SCALE) for level in ratings.values())
    )
