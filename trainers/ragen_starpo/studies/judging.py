"""Judges a study's claims by estimates of differences over seeds and instances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from ragen_bench.statistics import holm
from ragen_bench.suites import env_id
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.studies.outcomes import ByInstance, Outcome
from ragen_starpo.studies.study import BY_INSTANCE, Claim, Study

Values: TypeAlias = NDArray[np.float64]
_ROUNDING = 1e-12
"""Values of order 1 that differ by at most this are equal."""


@dataclass(frozen=True)
class StudyEstimate:
    """A mean over seeds and instances with its standard error.

    Student's t has one degree of freedom less than the seeds. There are fewer seeds than instances,
    so intervals are conservative. `seeds_differ` is True if the seeds have different values.
    """

    mean: float
    error: float
    seeds: int
    seeds_differ: bool

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided interval of a level in (0, 1)."""
        half = self._quantile((1 + level) / 2) * self.error
        return self.mean - half, self.mean + half

    def p_value(self, margin: float) -> float:
        """Return the two-sided p-value of the mean being equal to the margin.

        Equal values of all seeds do not show their spread, so their p-value is at least that of
        the sign test: 0.0625 for five seeds.
        """
        distance = abs(self.mean - margin)
        if distance <= _ROUNDING * max(1.0, abs(self.mean)):
            return 1.0
        from_t = 2 * float(stdtr(self.seeds - 1, -distance / self.error)) if self.error else 0.0
        return from_t if self.seeds_differ else max(from_t, 0.5 ** (self.seeds - 1))

    def detectable(self, level: float, power: float = 0.8) -> float | None:
        """Return the smallest distance from the margin that is detected with a probability `power`.

        The error is taken as known, so a few seeds need a larger distance. None if all seeds have
        the same value.
        """
        if not self.seeds_differ:
            return None
        return (self._quantile((1 + level) / 2) + self._quantile(power)) * self.error

    def _quantile(self, probability: float) -> float:
        return float(stdtrit(self.seeds - 1, probability))


def over_seeds_and_instances(environments: Sequence[Values]) -> StudyEstimate:
    """Return the mean of a value for each seed on each instance, both drawn at random.

    Each environment's values are (seeds, instances), at least two of each, with the same seeds.
    Every seed plays every instance. The variance of the mean is the variance over seeds plus the
    contribution of instances in the two-way random-effects layout without replication (Cornfield
    and Tukey 1956, Annals of Mathematical Statistics 27). Instances of different environments are
    independent, and each environment has the same weight.
    """
    means = np.mean([values.mean(axis=1) for values in environments], axis=0)
    added = sum_in_order(map(_instance_variance, environments)) / len(environments) ** 2
    return over_seeds(means, added)


def over_seeds(by_seed: Values, added: float = 0.0) -> StudyEstimate:
    """Return the mean of one value for each of at least two seeds, (seeds,).

    A further source of variance may be added to that of the mean.
    """
    mean = float(by_seed.mean())
    differ = float(np.ptp(by_seed)) > _ROUNDING * max(1.0, abs(mean))
    variance = float(by_seed.var(ddof=1)) / len(by_seed) if differ else 0.0
    return StudyEstimate(mean, math.sqrt(variance + added), len(by_seed), differ)


def _instance_variance(values: Values) -> float:
    """Return the contribution of the draw of instances to the variance of the mean."""
    seeds, instances = values.shape
    by_instance = values.mean(axis=0)
    residuals = values - values.mean(axis=1)[:, None] - by_instance[None, :] + values.mean()
    square = seeds * float(by_instance.var(ddof=1))
    residual = float((residuals**2).sum()) / ((seeds - 1) * (instances - 1))
    return float(max(0.0, square - residual) / values.size)


Word: TypeAlias = Literal["held", "not held", "undecided"]
ByRun: TypeAlias = Mapping[tuple[str, int], Outcome]
LEVEL = 0.95
"""Joint level of all verdicts of a study, by Holm's correction."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim that a difference is above a margin.

    Attributes:
        word: `held` if the whole interval is above the margin, `not held` if it is below,
            `undecided` if the margin is inside.
        interval: Interval at `level`, which Holm's correction leaves to this claim.
        p_value: Two-sided p-value of the difference being equal to the margin, corrected.
        detectable: Smallest distance from the margin that is detected at 80 % power; None if all
            seeds have the same difference.
    """

    word: Word
    mean: float
    interval: tuple[float, float]
    level: float
    margin: float
    p_value: float
    detectable: float | None


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict, or None and the problem, such as the runs that lack the metric.

    It has the difference for each seed, or for each seed with a collapse if the claim is about
    collapsed runs.
    """

    claim: Claim
    verdict: Verdict | None
    problem: str
    differences: list[float]


def judge_claims(
    study: Study, outcomes: Sequence[Outcome], seeds: Sequence[int]
) -> list[JudgedClaim]:
    """Return all claims of a study with their verdicts, in the study's order.

    A claim is not judged if a run lacks its metric, since the run may have failed because of what
    the claim is about. It still counts in Holm's correction, as the last one.
    """
    by_run = {(outcome.arm, outcome.seed): outcome for outcome in outcomes}
    problems = [_find_problem(claim, by_run, seeds) for claim in study.claims]
    estimates, by_seed = [], []
    for claim, problem in zip(study.claims, problems, strict=True):
        if problem:
            continue
        values = _values(claim, by_run, seeds)
        if isinstance(values, list):
            estimate = over_seeds_and_instances(values)
            values = np.mean([of_env.mean(axis=1) for of_env in values], axis=0)
        else:
            estimate = over_seeds(values)
        estimates.append((estimate, claim.margin))
        by_seed.append([float(value) for value in values])
    verdicts = decide(estimates, unjudged=len(study.claims) - len(estimates))
    judged = zip(verdicts, by_seed, strict=True)
    claims = []
    for claim, problem in zip(study.claims, problems, strict=True):
        verdict, differences = (None, []) if problem else next(judged)
        claims.append(JudgedClaim(claim, verdict, problem, differences))
    return claims


def decide(estimates: Sequence[tuple[StudyEstimate, float]], unjudged: int = 0) -> list[Verdict]:
    """Return the verdicts by Holm's correction; claims that cannot be judged count with p = 1."""
    p_values = [estimate.p_value(margin) for estimate, margin in estimates]
    corrected = holm([*p_values, *(1.0 for _ in range(unjudged))])
    by_place: dict[int, Verdict] = {}
    level = previous = 0.0
    for rank, place in enumerate(sorted(range(len(estimates)), key=p_values.__getitem__)):
        # Levels rise from claim to claim as long as all before were decided. After the first
        # undecided claim the others keep its level, and are undecided too.
        if previous < 1 - LEVEL:
            level = 1 - (1 - LEVEL) / (len(corrected) - rank)
        previous = corrected[place]
        estimate, margin = estimates[place]
        word: Word = "undecided"
        if previous < 1 - LEVEL:
            word = "held" if estimate.mean > margin else "not held"
        interval, detectable = estimate.interval(level), estimate.detectable(level)
        by_place[place] = Verdict(
            word, estimate.mean, interval, level, margin, previous, detectable
        )
    return [by_place[place] for place in range(len(estimates))]


def _find_problem(claim: Claim, by_run: ByRun, seeds: Sequence[int]) -> str:
    """Return which runs lack a claim's metric, and why; empty if none does."""
    arms = dict.fromkeys((*claim.plus, *claim.minus))
    runs = [by_run[arm, seed] for arm in arms for seed in seeds]
    problems = []
    in_env = f" in {claim.env}" if claim.env else ""
    for run in runs:
        if run.problem:
            problems.append(f"{run.folder}: {run.problem}")
            continue
        if claim.figure in BY_INSTANCE:
            has_metric = bool(_by_instance(run, claim))
        else:
            has_metric = run.figures.get(_metric_name(claim)) is not None
        if not has_metric and (claim.among == "all" or run.figures.get("collapsed")):
            problems.append(f"{run.folder}: has no {claim.figure}{in_env}")
    if (
        not problems
        and claim.among == "collapsed"
        and len(_collapsed_means(claim, by_run, seeds)) < 2
    ):
        problems.append("runs of fewer than two seeds collapsed")
    if not problems and claim.figure in BY_INSTANCE:
        first, *counts = [
            {env: len(values) for env, values in _by_instance(run, claim).items()} for run in runs
        ]
        problems += [
            f"{run.folder} was tested on other instances than {runs[0].folder}"
            for run, count in zip(runs[1:], counts, strict=True)
            if count != first
        ]
    return "; ".join(problems)


def _metric_name(claim: Claim) -> str:
    return f"{claim.figure}/{env_id(claim.env)}" if claim.env else claim.figure


def _by_instance(run: Outcome, claim: Claim) -> ByInstance:
    """Return the metric for each test instance of the environments that a claim is about."""
    values = run.test if claim.figure == "test" else run.gains
    return {
        env: of_env
        for env, of_env in values.items()
        if claim.env in ("", env.partition("/")[2], env)
    }


def _values(claim: Claim, by_run: ByRun, seeds: Sequence[int]) -> Values | list[Values]:
    """Return the difference per seed, (seeds,), or per environment (seeds, instances)."""
    if claim.among == "collapsed":
        return np.array(_collapsed_means(claim, by_run, seeds))
    if claim.figure not in BY_INSTANCE:
        values = {at: np.array(run.figures.get(_metric_name(claim))) for at, run in by_run.items()}
        return _difference(claim, values, seeds)
    tested = {at: _by_instance(run, claim) for at, run in by_run.items()}
    return [
        _difference(claim, {at: np.array(envs.get(env)) for at, envs in tested.items()}, seeds)
        for env in tested[claim.plus[0], seeds[0]]
    ]


def _collapsed_means(claim: Claim, by_run: ByRun, seeds: Sequence[int]) -> list[float]:
    """Return the mean of the metric over the collapsed runs of each seed that has any.

    Runs of a seed begin with the same model, so they count as one.
    """
    means = []
    for seed in seeds:
        metrics = [by_run[arm, seed].figures for arm in claim.plus]
        values = [of_run[_metric_name(claim)] for of_run in metrics if of_run.get("collapsed")]
        if values:
            means.append(fmean(value for value in values if value is not None))
    return means


def _difference(
    claim: Claim, values: Mapping[tuple[str, int], Values], seeds: Sequence[int]
) -> Values:
    """Return the mean over the arms `plus` less that over `minus`; the first axis is the seed."""

    def mean_of_arms(arms: Sequence[str]) -> Values:
        by_arm = [np.array([values[arm, seed] for seed in seeds]) for arm in arms]
        mean: Values = np.mean(by_arm, axis=0, dtype=float)
        return mean

    plus = mean_of_arms(claim.plus)
    return plus - mean_of_arms(claim.minus) if claim.minus else plus
