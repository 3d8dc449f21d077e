"""The server of the page on which a person plays."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from typing import Any

from ragen_bench.pages.local_server import PageServer, RefusedError, nothing_here
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode
from ragen_bench.pages.play.page_state import page_state


class PlayServer(PageServer):
    """Serves one player, who plays one episode after the other.

    All tabs show the same episode.

    Args:
        choice: the first episode.
        port: 0 for a free one.

    Raises:
        UserError: if the port is out of range or in use.
    """

    def __init__(self, choice: EpisodeChoice, port: int = 0) -> None:
        self.episode = HumanEpisode(choice)
        self.number = 1
        super().__init__(files("ragen_bench.pages.play") / "page", port)

    def state(self) -> dict[str, Any]:
        """Return what the page shows now."""
        return {"game": self.number, **page_state(self.episode)}

    def get(self, place: str) -> dict[str, Any]:
        """Return what the page shows now."""
        if place != "state":
            raise nothing_here()
        return self.state()

    def post(self, place: str, message: Any) -> dict[str, Any]:
        """Take an answer, or begin another episode; return what the page shows then."""
        take = {"answer": self._answer, "start": self._start}.get(place)
        if take is None:
            raise nothing_here()
        take(message)
        return self.state()

    def _answer(self, message: Any) -> None:
        if not _has_fields(message, {"game": int, "turn": int, "answer": str}):
            raise _bad("an answer is {game: a number, turn: a number, answer: a text}")
        if (message["game"], message["turn"]) != (self.number, len(self.episode.turns)):
            raise self._conflict("the episode has gone on in another tab; this is where it is now")
        if self.episode.over:
            raise self._conflict("the episode is over; begin another one")
        self.episode.play(message["answer"])

    def _start(self, message: Any) -> None:
        if not _has_fields(message, {"game": int, "next": bool}):
            raise _bad("a start is {game: a number, next: true or false}")
        if message["game"] != self.number:
            raise self._conflict("another episode was begun in another tab; this is it")
        choice = self.episode.choice
        self.episode = HumanEpisode(choice.following if message["next"] else choice)
        self.number += 1

    def _conflict(self, reason: str) -> RefusedError:
        return RefusedError(HTTPStatus.CONFLICT, reason, state=self.state())


def _bad(reason: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, reason)


def _has_fields(message: Any, fields: dict[str, type]) -> bool:
    """Return whether a message has these fields and no other."""
    return (
        isinstance(message, dict)
        and message.keys() == fields.keys()
        and all(type(message[name]) is kind for name, kind in fields.items())
    )
