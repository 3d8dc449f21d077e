"""Efficiency: actions and turns over the optimal ones in solved episodes, and tokens per solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragen_bench.environments import is_text_env
from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_bench.scores.metrics import round_interval, round_value
from ragen_bench.statistics import mean, resampled_interval
from ragen_envs.core.sealed import SealedKeyError
from ragen_envs.core.text_env import TextEnv


class SolvedEpisode(NamedTuple):
    """A solved episode: actions that it ran and turns that it took, over the optimal numbers.

    `most_actions` and `most_turns` are the highest values that the budget allows.
    """

    instance: int
    actions: float
    turns: float
    most_actions: float
    most_turns: float


class EfficiencyMeter:
    """Measures solved episodes whose optimal length is known.

    An episode is replayed, since its record does not say which actions of the last turn were run.
    Not measured are third-party environments, episodes of a specification that is unknown here or
    that do not replay, and sealed ones without their key.
    """

    def __init__(self, config: RunConfig) -> None:
        try:
            self._replayer: Replayer | None = Replayer(config)
        except UserError:
            self._replayer = None

    def measure(self, record: EpisodeRecord) -> SolvedEpisode | None:
        """Return the measures of an episode; None if it is not solved or cannot be measured."""
        if not (record.success and record.optimal_length and self._replayer):
            return None
        try:
            if not is_text_env(record.env):
                return None
            *_, episode = self._replayer.walk(record)
        except (UnplayableError, SealedKeyError):
            return None
        env, optimal = episode.env, record.optimal_length
        if not isinstance(env, TextEnv) or not env.success:
            return None
        budget = env.budget
        turns = -(-optimal // budget.max_actions_per_turn)
        return SolvedEpisode(
            record.index,
            (budget.max_actions - env.actions_left) / optimal,
            env.turn / turns,
            budget.max_actions / optimal,
            budget.max_turns / turns,
        )


def compute_efficiency(
    episodes: Sequence[EpisodeRecord], measured: Sequence[SolvedEpisode]
) -> JsonObject:
    """Return the efficiency of one environment's episodes; empty if none is solved.

    Tokens per solved episode are those of all episodes, prompts included. The others are means
    over the measured episodes, with 95 % intervals over instances.
    """
    solved = sum(bool(episode.success) for episode in episodes)
    if not solved:
        return {}
    turns = [turn for episode in episodes for turn in episode.turns]
    tokens = sum(turn.prompt_tokens + turn.completion_tokens for turn in turns)
    found: JsonObject = {"solved": solved}
    if tokens:
        found["tokens_per_solved"] = round_value(tokens / solved)
    if measured:
        found["measured"] = len(measured)
        for name in ("actions", "turns"):
            clusters = group_by_instance(measured, name)
            values = [value for cluster in clusters.values() for value in cluster]
            # Desk's planner, whose turns are the optimal length, may be beaten.
            bounds = min(1.0, *values), max(getattr(each, f"most_{name}") for each in measured)
            found[f"{name}_over_optimal"] = round_value(mean(values))
            found[f"{name}_over_optimal_interval"] = round_interval(
                resampled_interval(list(clusters.values()), *bounds)
            )
    return found


def group_by_instance(measured: Sequence[SolvedEpisode], name: str) -> dict[int, list[float]]:
    """Return a measure of solved episodes by instance."""
    clusters: dict[int, list[float]] = {}
    for episode in measured:
        clusters.setdefault(episode.instance, []).append(getattr(episode, name))
    return clusters
