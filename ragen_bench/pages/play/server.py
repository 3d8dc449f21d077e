"""The page on which a person plays, served on this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files
from threading import Lock
from typing import Any

from ragen_bench.pages.local_page import (
    PageHandler,
    PageServer,
    RefusedError,
    Reply,
    in_json,
    nothing_here,
)
from ragen_bench.pages.play.game import Chosen, Game
from ragen_bench.pages.play.shown import shown

_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_FILES = (
    "page.html", "style.css", "main.js", "dom.js", "actions.js", "answer.js", "ending.js",
    "history.js", "observation.js",
)  # fmt: skip


class PlayServer(PageServer):
    """Serves one player, who plays one episode after the other.

    All tabs show the same episode.

    Args:
        played: the first episode.
        port: 0 for a free one.

    Raises:
        UserError: if the port cannot be had.
    """

    def __init__(self, played: Chosen, port: int = 0) -> None:
        self.game = Game(played)
        self.number = 1
        self.playing = Lock()
        super().__init__(_Handler, port)

    def start(self, played: Chosen) -> None:
        """Begin another episode.

        Args:
            played: which one.
        """
        self.game = Game(played)
        self.number += 1

    def shown(self) -> dict[str, Any]:
        """Return what the page shows now."""
        return {"game": self.number, **shown(self.game)}


def serve(played: Chosen, port: int, announce: Callable[[str], object]) -> None:
    """Serve until the process is interrupted.

    Args:
        played: the first episode.
        port: 0 for a free one.
        announce: called with the address.

    Raises:
        UserError: if the port cannot be had.
    """
    with PlayServer(played, port) as server:
        announce(server.url)
        server.serve_forever()


class _Handler(PageHandler):
    server: PlayServer

    def get(self, place: str) -> Reply:
        if place == "state":
            with self.server.playing:
                return in_json(self.server.shown())
        name = place or "page.html"
        if name not in _FILES:
            raise nothing_here()
        folder = "local_pages" if name == "dom.js" else "play/page"
        content = files("ragen_bench.pages").joinpath(folder, name).read_bytes()
        return Reply(content, _KINDS[name.rpartition(".")[2]])

    def post(self, place: str, said: Any) -> Reply:
        taken = {"answer": self._answer, "start": self._start}.get(place)
        if taken is None:
            raise nothing_here()
        with self.server.playing:
            taken(said)
            return in_json(self.server.shown())

    def _answer(self, said: Any) -> None:
        if not _has(said, {"game": int, "turn": int, "answer": str}):
            raise _bad("an answer is {game: a number, turn: a number, answer: a text}")
        game = self.server.game
        if (said["game"], said["turn"]) != (self.server.number, len(game.turns)):
            raise self._conflict("the episode has gone on in another tab; this is where it is now")
        if game.over:
            raise self._conflict("the episode is over; begin another one")
        game.play(said["answer"])

    def _start(self, said: Any) -> None:
        if not _has(said, {"game": int, "next": bool}):
            raise _bad("a start is {game: a number, next: true or false}")
        if said["game"] != self.server.number:
            raise self._conflict("another episode was begun in another tab; this is it")
        played = self.server.game.played
        self.server.start(played.following if said["next"] else played)

    def _conflict(self, reason: str) -> RefusedError:
        return RefusedError(HTTPStatus.CONFLICT, reason, state=self.server.shown())


def _bad(reason: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, reason)


def _has(said: Any, fields: dict[str, type]) -> bool:
    """Return whether something that was said has these fields and no other."""
    return (
        isinstance(said, dict)
        and said.keys() == fields.keys()
        and all(type(said[name]) is kind for name, kind in fields.items())
    )
