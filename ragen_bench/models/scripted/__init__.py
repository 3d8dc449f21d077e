"""`random` and `oracle`: the random baseline and the optimal score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragen_bench.foreign import ForeignEnv
from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Model,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_bench.models.provider import ModelSettings, provider
from ragen_bench.models.random_player import RandomPlayer
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer


class _Scripted:
    """What both have in common."""

    slots = 64
    group_size = 1

    def identity(self) -> dict[str, Any]:
        """Return nothing: the package's version says it all."""
        return {}

    def probe(self) -> str:
        """Return where it runs."""
        return "in this process"


class RandomModel(_Scripted):
    """Answers in form with random legal actions, as many as the turn may run.

    Args:
        own: answers in environments of other packages that are not a `TextEnv`, if it is not None.
    """

    def __init__(self, own: RandomPlayer | None = None) -> None:
        self._own = own

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine whose answers are a pure function of seed and key."""
        refuse_constraint(sampling, "random")

        def answer(requests: Sequence[Request]) -> list[Completion]:
            return [Completion(self._answer(request, sampling.seed)) for request in requests]

        return CallEngine(answer)

    def _answer(self, request: Request, seed: int) -> str:
        stream, env = RandomStream("random", seed, request.key), request.env
        if self._own and isinstance(env, ForeignEnv):
            return self._own.answer(env.observations, stream, request.spoken)
        return random_answer(env, stream)


class OracleModel(_Scripted):
    """Answers with the best actions; it looks behind the text."""

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that gives the oracle's answers."""
        refuse_constraint(sampling, "oracle")
        return CallEngine(lambda requests: [Completion(oracle_answer(r.env)) for r in requests])


@provider(
    "random", form="random", help="random legal actions: the baseline", tools=True, pictures=True
)
def load_random(_name: str, settings: ModelSettings) -> Model:
    """Return the random player."""
    return RandomModel(settings.random_player)


@provider(
    "oracle",
    form="oracle",
    help="the best actions, from the hidden state: the optimal score",
    tools=True,
    pictures=True,
)
def load_oracle(_name: str, _settings: ModelSettings) -> Model:
    """Return the oracle."""
    return OracleModel()
