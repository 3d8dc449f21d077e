"""The analysis of a run: causes of failure and measures of reasoning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ragen_bench.analysis.label import find_failure
from ragen_bench.analysis.labelers import find_labeler, find_labels
from ragen_bench.analysis.reasoning import Reasoning
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, replay_episode
from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.failures import Failure

SCHEMA = 1
_EXAMPLES = 5


def analyse(run: RunDirectory, progress: Callable[[], None] = lambda: None) -> JsonObject:
    """Return the content of analysis.json, a function of the run's records.

    Every episode is replayed. An episode that cannot be replayed, or differs from its replay, is
    counted as `not_replayed` and excluded from all other values.

    Args:
        run: The run.
        progress: Called after each episode.

    Returns:
        `{"schema", "envs": [...], "labels": {...}}` with a row for each environment with
        episodes: `env`, `episodes`, `failed`, `not_replayed`, `failures` and `reasoning`. A row of
        `failures` has `label`, `about` (one sentence), `episodes`, `share` (of the failed ones)
        and the first `examples`, each `[index, sample, turn]` with turns from 1. `labels` holds the
        label of each failed episode by "ENV/INDEX/SAMPLE".

    Raises:
        UserError: If a line of the run is not an episode of it.
        SealedKeyError: For a run of the sealed split without a key.
    """
    replayer = Replayer(run.config)
    rows = {env.id: _Row(env.id) for env in run.config.envs}
    for record in run.episodes():
        rows[record.env].add(replayer, record)
        progress()
    nonempty = [row for row in rows.values() if row.recorded]
    return {
        "schema": SCHEMA,
        "envs": [row.result() for row in nonempty],
        "labels": {name: label for row in nonempty for name, label in row.labels.items()},
    }


class _Row:
    """Collects the episodes of one environment."""

    def __init__(self, env: str) -> None:
        self.env = env
        self.recorded = 0
        self.labels: dict[str, str] = {}
        self._labeler = find_labeler(env)
        self._episodes = self._failed = 0
        self._examples: dict[str, list[list[int]]] = defaultdict(list)
        self._counts: dict[str, int] = defaultdict(int)
        self._reasoning = Reasoning(self._labeler)

    def add(self, replayer: Replayer, record: EpisodeRecord) -> None:
        self.recorded += 1
        try:
            episode = replay_episode(replayer, record, self._labeler.read_state)
        except UnplayableError:
            return
        if first_difference(record.as_json(), episode.record.as_json()) is None:
            self._add_replayed(episode)

    def result(self) -> JsonObject:
        return {
            "env": self.env,
            "episodes": self._episodes,
            "failed": self._failed,
            "not_replayed": self.recorded - self._episodes,
            "failures": self._failures(),
            "reasoning": self._reasoning.measures(),
        }

    def _add_replayed(self, episode: ReplayedEpisode) -> None:
        self._episodes += 1
        self._reasoning.add(episode)
        failure = find_failure(episode)
        if failure:
            self._failed += 1
            self._add_failure(episode.record, failure)

    def _add_failure(self, record: EpisodeRecord, failure: Failure) -> None:
        self._counts[failure.label] += 1
        self.labels[f"{self.env}/{record.index}/{record.sample}"] = failure.label
        examples = self._examples[failure.label]
        if len(examples) < _EXAMPLES:
            examples.append([record.index, record.sample, failure.turn])

    def _failures(self) -> list[JsonObject]:
        """Return the rows of the labels, the most frequent first."""
        labels = find_labels(self.env)
        return [
            {
                "label": name,
                "about": labels[name],
                "episodes": count,
                "share": round(count / self._failed, 6),
                "examples": self._examples[name],
            }
            for name, count in sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        ]
