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

    def __init__(self, choice: EpisodeChoice | HumanEpisode, port: int = 0) -> None:
        self.episode = choice if isinstance(choice, HumanEpisode) else HumanEpisode(choice)
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
            "legal": episode.listed_actions,
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
            self.answer(message)
        elif place == "start":
            self.start(message)
        else:
            raise not_found()
        return self.state()

    def answer(self, message: object) -> None:
        """Take a response to the current turn."""
        if not has_fields(message, {"game": int, "turn": int, "answer": str}):
            reason = "an answer is {game: a number, turn: a number, answer: a text}"
            raise RefusedError(HTTPStatus.BAD_REQUEST, reason)
        self.check_turn(message["game"], message["turn"])
        self.episode.play(message["answer"])

    def check_turn(self, game: int, turn: int) -> None:
        """Refuse a message of a tab that shows another turn, or an episode that is over."""
        if (game, turn) != (self.number, len(self.episode.turns)):
            raise self.conflict("the episode has gone on in another tab; this is where it is now")
        if self.episode.over:
            raise self.conflict("the episode is over; begin another one")

    def start(self, message: object) -> None:
        """Begin another episode."""
        if not has_fields(message, {"game": int, "next": bool}):
            reason = "a start is {game: a number, next: true or false}"
            raise RefusedError(HTTPStatus.BAD_REQUEST, reason)
        if message["game"] != self.number:
            raise self.conflict("another episode was begun in another tab; this is it")
        self.episode = self.other_episode(following=message["next"])
        self.number += 1

    def other_episode(self, *, following: bool) -> HumanEpisode:
        """Return an episode of the same instance, or of the following one."""
        choice = self.episode.choice
        return HumanEpisode(replace(choice, seed=choice.seed + 1) if following else choice)

    def conflict(self, reason: str) -> RefusedError:
        """Return the refusal of a message that does not fit the current state, which it sends."""
        return RefusedError(HTTPStatus.CONFLICT, reason, state=self.state())


def has_fields(message: object, fields: dict[str, type]) -> TypeGuard[JsonObject]:
    """Return whether a message has these fields and no other."""
    return (
        isinstance(message, dict)
        and message.keys() == fields.keys()
        and all(type(message[name]) is kind for name, kind in fields.items())
    )
