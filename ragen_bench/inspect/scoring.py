"""The scorer, which reads an episode's result from the store, and the metrics in Inspect."""

from __future__ import annotations

from collections.abc import Callable, ItemsView
from functools import lru_cache
from math import nan

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    grouped,
    mean,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from ragen_bench.inspect.solving import STORE_KEY
from ragen_bench.json_types import JsonObject
from ragen_bench.scores.baselines import compute_floor_and_ceiling
from ragen_bench.scores.metrics import round_interval, round_value
from ragen_bench.statistics import Estimate, mean_estimate, mean_of
from ragen_bench.suites import plays
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_drawn_key
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.wording import pluralize

_UNPLAYED: JsonObject = {
    "outcome": "error",
    "success": False,
    "score": 0.0,
    "return": 0.0,
    "rewards": [],
}
"""The result of an episode that an error ended before its first turn."""
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
        scaled = {}
        for env, found in _by_environment(scores):
            has_bounds = plays("random", env) and plays("oracle", env)
            if has_bounds and (score := _normalise(env, found)) is not None:
                scaled[env] = score
        estimates = list(scaled.values())
        if estimates and len(estimates) == _sample(scores[0])["environments"]:
            scaled = {SUITE: _round(mean_of(estimates)), **scaled}
        return {env: select(estimate) for env, estimate in scaled.items()}

    return compute


def _normalise(env: str, scores: list[SampleScore]) -> Estimate | None:
    """Return an environment's score between its mean floor and ceiling over instances."""
    split: Split = _sample(scores[0])["split"]
    clusters: dict[int, list[float]] = {}
    for score in scores:
        clusters.setdefault(_sample(score)["seed"], []).append(score.score.as_float())
    key = open_drawn_key() if split == "sealed" else ""
    each = [_bounds_of(env, split, seed, key) for seed in clusters]
    bounds = [round_value(sum_in_order(side) / len(each)) for side in zip(*each, strict=True)]
    scaled = _round(mean_estimate(list(clusters.values()))).normalise(*bounds)
    return scaled and _round(scaled)


@lru_cache(maxsize=1 << 14)
def _bounds_of(env: str, split: Split, seed: int, _key: str) -> tuple[float, float]:
    """Return the bounds of an instance; cached, as Inspect recomputes metrics during a run."""
    return compute_floor_and_ceiling(env, split, [seed])


def _round(estimate: Estimate) -> Estimate:
    low, high = round_interval(estimate.interval)
    return Estimate(round_value(estimate.value), (low, high))


def _by_environment(scores: list[SampleScore]) -> ItemsView[str, list[SampleScore]]:
    found: dict[str, list[SampleScore]] = {}
    for score in scores:
        found.setdefault(_sample(score)["env"], []).append(score)
    return found.items()


def _sample(score: SampleScore) -> JsonObject:
    """Return the metadata of a sample, written by `ragen_bench.inspect.tasks`."""
    return score.sample_metadata or {}


@scorer(
    metrics={
        "success": [grouped(mean(), "env", all=False)],
        "score": [normalised(), normalised_low(), normalised_high(), episodes_mean()],
        "return": [episodes_mean()],
    }
)
def figures_of_episode() -> Scorer:
    """Score an episode by success, score and return; an unknown value is NaN."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (signature of Inspect)
        result = state.store.get(STORE_KEY) or _UNPLAYED
        values = {name: result[name] for name in ("success", "score", "return")}
        return Score(
            value={name: nan if value is None else float(value) for name, value in values.items()},
            answer=state.output.completion,
            explanation=f"{result['outcome']} in {pluralize(len(result['rewards']), 'turn')}",
            metadata=result,
        )

    return score
