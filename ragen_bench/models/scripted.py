"""`random` and `oracle`: the floor and the ceiling of every table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragen_bench.models.base import (
    CallEngine,
    Completion,
    Engine,
    Request,
    Sampling,
    refuse_constraint,
)
from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer


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
    """Answers in form with random legal actions, as many as the turn may run."""

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine whose answers are a pure function of seed and key."""
        refuse_constraint(sampling, "random")

        def answer(requests: Sequence[Request]) -> list[Completion]:
            streams = (Stream("random", sampling.seed, request.key) for request in requests)
            pairs = zip(requests, streams, strict=True)
            return [Completion(random_answer(request.env, stream)) for request, stream in pairs]

        return CallEngine(answer)


class OracleModel(_Scripted):
    """Answers with the best actions; it looks behind the text."""

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that gives the oracle's answers."""
        refuse_constraint(sampling, "oracle")
        return CallEngine(lambda requests: [Completion(oracle_answer(r.env)) for r in requests])
