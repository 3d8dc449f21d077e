"""The analysis of a run: causes of failure and measures of reasoning."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable

from ragen_bench.analysis.failures import find_failure, find_labeler, find_labels
from ragen_bench.analysis.reasoning import Reasoning
from ragen_bench.analysis.replayed_episode import replay_episode
from ragen_bench.cache import fetch
from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import open_file
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.registration import IDS, OPPONENT_IDS

SCHEMA = 1
_EXAMPLES = 5


def analyse(run: RunDirectory, progress: Callable[[], None] = lambda: None) -> JsonObject:
    """Return the content of analysis.json, a function of the run's records.

    Every episode is replayed. An episode that cannot be replayed, or differs from its replay, is
    counted as `not_replayed` and excluded from all other values. `progress` is called after each.

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


def fetch_analysis(run: RunDirectory, digest: str = "") -> JsonObject:
    """Return `analyse(run)`, kept in the cache unless the code of an environment is not ours.

    `digest` is SHA-256 of the lines of the episodes in hex digits, "" for that of the run's file.
    """
    if not {env.id for env in run.config.envs} <= {*IDS, *OPPONENT_IDS}:
        return analyse(run)
    if not digest:
        with open_file(run.episodes_file) as episodes:
            digest = hashlib.file_digest(episodes, "sha256").hexdigest()
    analysis: JsonObject = fetch("analysis", [run.config.as_json(), digest], lambda: analyse(run))
    return analysis


class _Row:
    def __init__(self, env: str) -> None:
        self.env = env
        self.recorded = 0
        self.labels: dict[str, str] = {}
        self._labeler = find_labeler(env)
        self._episodes = 0
        self._examples: dict[str, list[list[int]]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._reasoning = Reasoning(self._labeler)

    def add(self, replayer: Replayer, record: EpisodeRecord) -> None:
        self.recorded += 1
        try:
            episode = replay_episode(replayer, record, self._labeler.read_state)
        except UnplayableError:
            return
        if first_difference(record.as_json(), episode.record.as_json()) is not None:
            return
        self._episodes += 1
        self._reasoning.add(episode)
        if failure := find_failure(episode):
            self._counts[failure.label] += 1
            self.labels[f"{self.env}/{record.index}/{record.sample}"] = failure.label
            examples = self._examples[failure.label]
            if len(examples) < _EXAMPLES:
                examples.append([record.index, record.sample, failure.turn])

    def result(self) -> JsonObject:
        abouts, failed = find_labels(self.env), self._counts.total()
        most_frequent_first = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return {
            "env": self.env,
            "episodes": self._episodes,
            "failed": failed,
            "not_replayed": self.recorded - self._episodes,
            "failures": [
                {
                    "label": name,
                    "about": abouts[name],
                    "episodes": count,
                    "share": round(count / failed, 6),
                    "examples": self._examples[name],
                }
                for name, count in most_frequent_first
            ],
            "reasoning": self._reasoning.measures(),
        }
