"""The player and its opponent as one model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ragen_bench.models.base import (
    Completion,
    Engine,
    Model,
    Request,
    RequestFailure,
    Sampling,
    Side,
    notes_of,
)
from ragen_bench.models.reasoning import stop_text
from ragen_envs.core.protocol import ResponseFormat


class ModelPair:
    """A model and its opponent; each answers the requests of its side.

    Args:
        player: The model that is scored.
        opponent: The model that plays against it; may be the same one.
        opponent_format: Response format of the opponent.
    """

    def __init__(self, player: Model, opponent: Model, opponent_format: ResponseFormat) -> None:
        self.player, self.opponent = player, opponent
        self._opponent_format = opponent_format

    @property
    def slots(self) -> int:
        """The smaller number of the two, since at times all episodes wait for the same model."""
        return min(self.player.slots, self.opponent.slots)

    @property
    def group_size(self) -> int:
        """The larger number of the two."""
        return max(self.player.group_size, self.opponent.group_size)

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how both are asked."""
        return list(dict.fromkeys([*notes_of(self.player), *notes_of(self.opponent)]))

    def identity(self) -> dict[str, Any]:
        """Return the player's identity; the record has another field for the opponent's."""
        return self.player.identity()

    def probe(self) -> str:
        """Return where both run."""
        return f"{self.player.probe()}; the opponent: {self.opponent.probe()}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine of both; the opponent samples alike, in its own format."""
        stop = stop_text(self._opponent_format, sampling.constrain)
        with ExitStack() as on_error:
            player = self.player.engine(sampling)
            on_error.callback(player.close)
            opponent = self.opponent.engine(replace(sampling, stop=stop))
            on_error.pop_all()
        return _AlternatingEngine({"player": player, "opponent": opponent})


class _AlternatingEngine:
    """Asks one side until none of its requests is left, then the other side.

    Requests to the active side are submitted at once. Those to the other side wait, and are
    submitted in order of their keys. So the batches do not depend on the order of responses, even
    if one side is a server.
    """

    def __init__(self, engines: dict[Side, Engine]) -> None:
        self._engines = engines
        self._active: Side = "player"
        self._unanswered = 0
        self._waiting: list[Request] = []

    def submit(self, request: Request) -> None:
        if request.side == self._active:
            self._engines[self._active].submit(request)
            self._unanswered += 1
        else:
            self._waiting.append(request)

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Wait for responses of the active side, after changing sides if it has no requests."""
        if not self._unanswered:
            self._active = "opponent" if self._active == "player" else "player"
            waiting, self._waiting = self._waiting, []
            for request in sorted(waiting, key=lambda request: request.key):
                self.submit(request)
        outcomes = self._engines[self._active].collect()
        self._unanswered -= len(outcomes)
        return outcomes

    def close(self) -> None:
        self._waiting = []
        with ExitStack() as stack:
            for engine in self._engines.values():
                stack.callback(engine.close)
