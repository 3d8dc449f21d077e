"""`random` and `oracle`: the floor and the ceiling of every table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragen_bench.models.base import Completion, Request, Sampling
from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer


class RandomModel:
    """Answers in form with random legal actions, as many as the turn may run."""

    batch_size = 64

    def identity(self) -> dict[str, Any]:
        """Return nothing: the package's version says it all."""
        return {}

    def probe(self) -> str:
        """Return where it runs."""
        return "in this process"

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return random answers, a pure function of seed and key."""
        return [
            Completion(random_answer(r.env, Stream("random", sampling.seed, r.key)))
            for r in requests
        ]


class OracleModel:
    """Answers with the best actions; it looks behind the text."""

    batch_size = 64

    def identity(self) -> dict[str, Any]:
        """Return nothing: the package's version says it all."""
        return {}

    def probe(self) -> str:
        """Return where it runs."""
        return "in this process"

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return the oracle's answers."""
        return [Completion(oracle_answer(r.env)) for r in requests]
