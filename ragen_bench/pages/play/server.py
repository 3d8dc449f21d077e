"""The server of the play page."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from importlib.resources import files
from typing import TypeGuard

from ragen_bench.json_types import JsonObject
from ragen_bench.pages.local_server import PageServer, RefusedError, not_found
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, describe_ending
from ragen_envs.core.protocol import SEPARATOR


class PlayServer(PageServer):
    """Serves episodes to one player, from `choice` on. All tabs show the same episode."""

    def __init__(self, choice: EpisodeChoice, port: int = 0) -> None:
        self.episode = HumanEpisode(choice)
        self.number = 1
        super().__init__(files("ragen_bench.pages.play") / "page", port)

    def state(self) -> JsonObject:
        """Return the state of the page."""
        episode, env, choice = self.episode, self.episode.env, self.episode.choice
        free = env.free_text
        state = {
            "game": self.number,
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
            "end": None,
        }
        if episode.over:
            ending = describe_ending(episode)
            oracle = [{"answer": turn.answer, "reward": turn.reward} for turn in ending.oracle]
            state["end"] = {
                "verdict": ending.verdict,
                "score": ending.score,
                "ceiling": ending.ceiling,
                "parts": ending.parts,
                "oracle": oracle,
                "oracle_total": ending.oracle_total,
            }
        return state

    def get(self, place: str) -> JsonObject:
        """Return the state of the page."""
        if place != "state":
            raise not_found()
        return self.state()

    def post(self, place: str, message: object) -> JsonObject:
        """Take a response, or start another episode; return the new state."""
        if place == "answer":
            self._answer(message)
        elif place == "start":
            self._start(message)
        else:
            raise not_found()
        return self.state()

    def _answer(self, message: object) -> None:
        if not _has_fields(message, {"game": int, "turn": int, "answer": str}):
            reason = "an answer is {game: a number, turn: a number, answer: a text}"
            raise RefusedError(HTTPStatus.BAD_REQUEST, reason)
        if (message["game"], message["turn"]) != (self.number, len(self.episode.turns)):
            raise self._conflict("the episode has gone on in another tab; this is where it is now")
        if self.episode.over:
            raise self._conflict("the episode is over; begin another one")
        self.episode.play(message["answer"])

    def _start(self, message: object) -> None:
        if not _has_fields(message, {"game": int, "next": bool}):
            reason = "a start is {game: a number, next: true or false}"
            raise RefusedError(HTTPStatus.BAD_REQUEST, reason)
        if message["game"] != self.number:
            raise self._conflict("another episode was begun in another tab; this is it")
        choice = self.episode.choice
        if message["next"]:
            choice = replace(choice, seed=choice.seed + 1)
        self.episode = HumanEpisode(choice)
        self.number += 1

    def _conflict(self, reason: str) -> RefusedError:
        return RefusedError(HTTPStatus.CONFLICT, reason, state=self.state())


def _has_fields(message: object, fields: dict[str, type]) -> TypeGuard[JsonObject]:
    """Return whether a message has these fields and no other."""
    return (
        isinstance(message, dict)
        and message.keys() == fields.keys()
        and all(type(message[name]) is kind for name, kind in fields.items())
    )
