"""The server of the play page."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from typing import Any

from ragen_bench.pages.local_server import PageServer, RefusedError, not_found
from ragen_bench.pages.play.ending import describe_ending
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode
from ragen_envs.core.protocol import SEPARATOR


class PlayServer(PageServer):
    """Serves episodes to one player. All tabs show the same episode.

    Args:
        choice: Settings of the first episode.
        port: Port number, 0 for a free one.

    Raises:
        UserError: if the port is out of range or in use.
    """

    def __init__(self, choice: EpisodeChoice, port: int = 0) -> None:
        self.episode = HumanEpisode(choice)
        self.number = 1
        super().__init__(files("ragen_bench.pages.play") / "page", port)

    def state(self) -> dict[str, Any]:
        """Return the state of the page."""
        return {"game": self.number, **_describe_episode(self.episode)}

    def get(self, place: str) -> dict[str, Any]:
        """Return the state of the page."""
        if place != "state":
            raise not_found()
        return self.state()

    def post(self, place: str, message: Any) -> dict[str, Any]:
        """Take a response, or start another episode; return the new state."""
        handle = {"answer": self._answer, "start": self._start}.get(place)
        if handle is None:
            raise not_found()
        handle(message)
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


def _describe_episode(episode: HumanEpisode) -> dict[str, Any]:
    """Return the state of an episode in JSON types."""
    env, choice = episode.env, episode.choice
    free = env.free_text
    return {
        "env": choice.env,
        "split": choice.split,
        "index": episode.info["index"],
        "noise_seed": choice.noise_seed,
        "turns": [turn._asdict() for turn in episode.turns],
        "observation": episode.observation,
        "max_turns": env.budget.max_turns,
        "turns_left": env.turns_left,
        "actions_left": env.actions_left,
        "actions_this_turn": env.actions_this_turn,
        "several": env.budget.max_actions_per_turn > 1,
        "total": episode.total,
        "legal": env.legal_actions,
        "free": free and {"before": free.before, "after": free.after, "longest": free.longest},
        "separator": SEPARATOR,
        "end": _describe_end(episode) if episode.over else None,
    }


def _describe_end(episode: HumanEpisode) -> dict[str, Any]:
    ending = describe_ending(episode)
    return {
        "verdict": ending.verdict,
        "score": ending.score,
        "ceiling": ending.ceiling,
        "parts": ending.parts,
        "oracle": [{"answer": turn.answer, "reward": turn.reward} for turn in ending.oracle],
        "oracle_total": ending.oracle_total,
    }
