"""The harness's metrics in Inspect, computed for each environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from ragen_bench.environments import is_text_env
from ragen_bench.scores.metrics import round_interval, round_value
from ragen_bench.scores.summary import compute_floor_and_ceiling
from ragen_bench.statistics import Estimate, mean_estimate, mean_of
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.core.sums import sum_in_order

SUITE = "suite"
"""Name of the unweighted mean over environments."""


@metric(scores="unreduced")
def episodes_mean() -> Metric:
    """The mean over all episodes of each environment."""

    def compute(scores: list[SampleScore]) -> Value:
        means = {}
        for env, found in _by_environment(scores):
            values = [each.score.as_float() for each in found]
            means[env] = round_value(sum_in_order(values) / len(values))
        return means

    return compute


@metric(scores="unreduced")
def normalised() -> Metric:
    """The score, scaled so that the random player has 0 and the oracle 1."""
    return _normalised_metric(lambda estimate: estimate.value)


@metric(scores="unreduced")
def normalised_low() -> Metric:
    """The lower bound of the 95 % interval of `normalised`."""
    return _normalised_metric(lambda estimate: estimate.interval[0])


@metric(scores="unreduced")
def normalised_high() -> Metric:
    """The upper bound of the 95 % interval of `normalised`."""
    return _normalised_metric(lambda estimate: estimate.interval[1])


def _normalised_metric(select: Callable[[Estimate], float]) -> Metric:
    """Return a metric of the normalised scores of the environments and the suite.

    An environment without floor and ceiling is omitted; then the suite is omitted as well.
    """

    def compute(scores: list[SampleScore]) -> Value:
        scaled = dict(_normalised_scores(scores))
        estimates = list(scaled.values())
        if estimates and len(estimates) == _environment_count(scores):
            scaled = {SUITE: _round(mean_of(estimates)), **scaled}
        return {env: select(estimate) for env, estimate in scaled.items()}

    return compute


def _normalised_scores(scores: list[SampleScore]) -> Iterator[tuple[str, Estimate]]:
    for env, found in _by_environment(scores):
        if is_text_env(env):
            split: Split = _sample(found[0])["split"]
            clusters: dict[int, list[float]] = {}
            for each in found:
                clusters.setdefault(_sample(each)["seed"], []).append(each.score.as_float())
            estimate = _round(mean_estimate(list(clusters.values())))
            scaled = estimate.normalised(*_bounds(env, split, list(clusters)))
            if scaled is not None:
                yield env, _round(scaled)


def _bounds(env: str, split: Split, seeds: list[int]) -> tuple[float, float]:
    """Return the mean floor and ceiling over instances."""
    key = open_key() if split == "sealed" else ""
    each = [_bounds_of(env, split, seed, key) for seed in seeds]
    floor, ceiling = (sum_in_order(bounds) / len(seeds) for bounds in zip(*each, strict=True))
    return round_value(floor), round_value(ceiling)


@lru_cache(maxsize=1 << 14)
def _bounds_of(env: str, split: Split, seed: int, _key: str) -> tuple[float, float]:
    """Return the bounds of an instance; cached, as Inspect recomputes metrics during a run."""
    return compute_floor_and_ceiling(env, split, [seed])


def _round(estimate: Estimate) -> Estimate:
    low, high = round_interval(estimate.interval)
    return Estimate(round_value(estimate.value), (low, high))


def _by_environment(scores: list[SampleScore]) -> Iterator[tuple[str, list[SampleScore]]]:
    found: dict[str, list[SampleScore]] = {}
    for score in scores:
        found.setdefault(_sample(score)["env"], []).append(score)
    yield from found.items()


def _environment_count(scores: list[SampleScore]) -> int:
    count: int = _sample(scores[0])["environments"]
    return count


def _sample(score: SampleScore) -> dict[str, Any]:
    """Return the metadata of a sample, written by `ragen_bench.inspect.tasks`."""
    return score.sample_metadata or {}
