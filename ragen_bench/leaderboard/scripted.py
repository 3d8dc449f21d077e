"""Answers of the random player and the oracle, whose entries are recomputed and not trusted."""

from __future__ import annotations

from ragen_bench.episodes.episode import Episode
from ragen_bench.models.base import Fault, Sampling
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_envs.core.protocol import STOP

SCRIPTED: dict[str, type[RandomModel] | type[OracleModel]] = {
    "random": RandomModel,
    "oracle": OracleModel,
}
"""The models whose answers anybody can compute."""


class ScriptedAnswers:
    """Answers beside a replayed episode, and compares.

    Args:
        config: the content of run.json.
    """

    def __init__(self, config: RunConfig) -> None:
        self._model = config.model
        player = SCRIPTED.get(self._model)
        settings = config.temperature, config.max_tokens, STOP, config.seed
        self._engine = player().engine(Sampling(*settings)) if player else None
        self._answers: list[str] = []

    def begin(self) -> None:
        """Expect a new episode."""
        self._answers = []

    def watch(self, episode: Episode) -> None:
        """Answer what the replayed episode asks next."""
        if self._engine is None or episode.over:
            return
        self._engine.submit(episode.request())
        ((_, answer),) = self._engine.collect()
        if not isinstance(answer, Fault):
            self._answers.append(answer.text)

    def problem(self, record: EpisodeRecord) -> str | None:
        """Return where a replayed episode has another answer, or None."""
        if self._engine is None:
            return None
        answers = [turn.answer for turn in record.turns]
        difference = first_difference(answers, self._answers, "answers")
        return difference and f"{difference} by the model {self._model}"
