"""`human:NAME`: people, who play with `ragen-bench play --record`."""

from __future__ import annotations

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import CallEngine, Completion, Engine, Model, Sampling
from ragen_bench.models.provider import ModelSettings, provider
from ragen_bench.people import PREFIX, find_name_problem


class HumanModel:
    """Stands for people in the settings of a run; no engine asks them."""

    slots = 1
    group_size = 1

    def __init__(self, name: str) -> None:
        self._name = name

    def identity(self) -> JsonObject:
        """Return nothing: each episode has the name of its player."""
        return {}

    def probe(self) -> str:
        """Refuse, with the command that people play with."""
        raise UserError(
            f"{PREFIX}{self._name} is a person: play with `ragen-bench play --record --player "
            f"{self._name}`, with the same --suite or environments"
        )

    def engine(self, sampling: Sampling) -> Engine:  # noqa: ARG002  # of the protocol
        """Return an engine that refuses every request as `probe` does."""
        return CallEngine(lambda _: [Completion(self.probe())])


@provider(
    "human",
    form="human:NAME",
    help="people, who play with `ragen-bench play --record`",
    seeded=False,
)
def load_human(name: str, _settings: ModelSettings) -> Model:
    """Return the stand-in of one person or a group."""
    if problem := find_name_problem(name):
        raise UserError(f"the name {name!r} of a person {problem}")
    return HumanModel(name)
