"""A question to an agent as plain data, and back: the messages, and what is told of the turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragen_bench.models.base import Place, Request, Seat
from ragen_envs.core.protocol import AnswerFormat, FreeText

Data = dict[str, Any]


@dataclass(frozen=True)
class _Told:
    """What an agent is told of an environment in place of the environment."""

    response_format: AnswerFormat
    legal_actions: tuple[str, ...] = ()
    free_text: FreeText | None = None
    actions_this_turn: int = 1

    def best_actions(self) -> tuple[str, ...]:
        """Return nothing: it knows none."""
        return ()


def data_of(request: Request, with_turn: bool) -> Data:
    """Return a request as JSON takes it, without the environment.

    Args:
        request: what is asked.
        with_turn: whether the agent is told what it may do in this turn.
    """
    env, place = request.env, request.place
    told: Data = {"response_format": env.response_format}
    if with_turn:
        told["legal_actions"] = [*env.legal_actions]
        told["free_text"] = env.free_text and [*env.free_text]
        told["actions_this_turn"] = env.actions_this_turn
    return {
        "messages": [*request.messages],
        "key": request.key,
        "seat": request.seat,
        "place": place and [place.env, place.split, place.instance, place.sample, place.turn],
        "told": told,
    }


def request_of(data: Data, kept: dict[Seat, Any]) -> Request:
    """Return a request from its data.

    Args:
        data: as `data_of` returns it.
        kept: what the agent keeps of the episode.
    """
    told = dict(data["told"])
    if "legal_actions" in told:
        told["legal_actions"] = tuple(told["legal_actions"])
        told["free_text"] = told["free_text"] and FreeText(*told["free_text"])
    place = Place(*data["place"]) if data["place"] else None
    return Request(data["messages"], data["key"], _Told(**told), data["seat"], place, kept)


@dataclass
class Episodes:
    """What the agent keeps of the episodes that have not ended, by their numbers."""

    kept: dict[int, dict[Seat, Any]] = field(default_factory=dict)

    def of(self, question: Data) -> Request:
        """Return the request of a question; what episodes kept that ended before it is dropped."""
        for number in question["ended"]:
            self.kept.pop(number, None)
        number = question["episode"]
        kept = {} if number is None else self.kept.setdefault(number, {})
        return request_of(question["request"], kept)
