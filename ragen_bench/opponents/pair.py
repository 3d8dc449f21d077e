"""Pairs of models in one game: the one that is scored, and its opponent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ragen_bench.models.base import (
    Completion,
    Engine,
    Fault,
    Model,
    Request,
    Sampling,
    Seat,
    notes_of,
)
from ragen_bench.models.reasoning import stop_text
from ragen_envs.core.protocol import ResponseFormat


class Pair:
    """A model and its opponent, each of which is asked what is put to its seat.

    Args:
        player: who is scored.
        opponent: who plays against it; it may be the same model.
        opponent_format: the form of the opponent's answers.
    """

    def __init__(self, player: Model, opponent: Model, opponent_format: ResponseFormat) -> None:
        self.player, self.opponent = player, opponent
        self._opponent_format = opponent_format

    @property
    def slots(self) -> int:
        """As many episodes as both can take: at times all of them wait for the same one."""
        return min(self.player.slots, self.opponent.slots)

    @property
    def group_size(self) -> int:
        """That of the one whose answers depend on more others."""
        return max(self.player.group_size, self.opponent.group_size)

    @property
    def notes(self) -> list[str]:
        """What a user should know of how either is asked."""
        return list(dict.fromkeys([*notes_of(self.player), *notes_of(self.opponent)]))

    def identity(self) -> dict[str, Any]:
        """Return the player's; the opponent has its own place in the record."""
        return self.player.identity()

    def probe(self) -> str:
        """Return where both run.

        Raises:
            UserError: if one of them is not there.
        """
        return f"{self.player.probe()}; the opponent: {self.opponent.probe()}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks both; the opponent samples alike, in its own form.

        Raises:
            UserError: if one of them cannot sample so.
        """
        stop = stop_text(self._opponent_format, sampling.constrain)
        with ExitStack() as begun:
            player = self.player.engine(sampling)
            begun.callback(player.close)
            opponent = self.opponent.engine(replace(sampling, stop=stop))
            begun.pop_all()
        return _PhasedEngine({"player": player, "opponent": opponent})


class _PhasedEngine:
    """Asks one seat until none of its requests is left, then the other.

    Requests to the other seat wait meanwhile, and are handed over in the order of their keys. So
    what shares a batch does not depend on which answer came first: not on the clock, even if one
    of the two is a server. Requests to the seat that is asked join at once.
    """

    def __init__(self, engines: dict[Seat, Engine]) -> None:
        self._engines = engines
        self._asked: Seat = "player"
        self._unanswered = 0
        self._held: list[Request] = []

    def submit(self, request: Request) -> None:
        """Take a request."""
        if request.seat == self._asked:
            self._engines[self._asked].submit(request)
            self._unanswered += 1
        else:
            self._held.append(request)

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Wait for answers of the seat that is asked, which is the other if it has no request."""
        if not self._unanswered:
            self._change_seats()
        answers = self._engines[self._asked].collect()
        self._unanswered -= len(answers)
        return answers

    def close(self) -> None:
        """Drop what is unanswered, of both."""
        self._held = []
        with ExitStack() as both:
            for engine in self._engines.values():
                both.callback(engine.close)

    def _change_seats(self) -> None:
        self._asked = "opponent" if self._asked == "player" else "player"
        held, self._held = self._held, []
        for request in sorted(held, key=lambda request: request.key):
            self.submit(request)
