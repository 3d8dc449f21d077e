"""Judges a study's claims by the outcomes of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np

from ragen_bench.statistics import holm
from ragen_bench.suites import env_id
from ragen_starpo.studies.estimates import (
    StudyEstimate,
    Values,
    over_seeds,
    over_seeds_and_instances,
)
from ragen_starpo.studies.metrics import BY_INSTANCE
from ragen_starpo.studies.outcomes import ByInstance, Outcome
from ragen_starpo.studies.study import Claim, Study

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
        mean: The difference.
        interval: Interval at `level`.
        level: The level that Holm's correction leaves to this claim.
        margin: The claim's margin.
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
    """A claim with its verdict.

    Attributes:
        claim: The claim.
        verdict: None if it cannot be judged yet.
        problem: Reason that it cannot be judged, such as the runs that lack the metric.
        differences: The difference for each seed, or for each seed with a collapse if the claim is
            about collapsed runs. Empty if it cannot be judged.
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

    Args:
        study: The study.
        outcomes: Outcomes of all its runs.
        seeds: Seeds of each arm.
    """
    by_run = {(outcome.arm, outcome.seed): outcome for outcome in outcomes}
    problems = [_find_problem(claim, by_run, seeds) for claim in study.claims]
    values = [
        None if problem else _values(claim, by_run, seeds)
        for claim, problem in zip(study.claims, problems, strict=True)
    ]
    known = [
        (_estimate(differences), claim.margin)
        for claim, differences in zip(study.claims, values, strict=True)
        if differences is not None
    ]
    verdicts = iter(decide(known, unjudged=len(study.claims) - len(known)))
    return [
        JudgedClaim(claim, None, problem, [])
        if differences is None
        else JudgedClaim(claim, next(verdicts), "", [float(each) for each in _by_seed(differences)])
        for claim, problem, differences in zip(study.claims, problems, values, strict=True)
    ]


def decide(estimates: Sequence[tuple[StudyEstimate, float]], unjudged: int = 0) -> list[Verdict]:
    """Return the verdicts of a study's claims, corrected for their number by Holm's method.

    Args:
        estimates: By claim, the difference and the margin.
        unjudged: Number of claims that cannot be judged yet; they count with a p-value of 1.
    """
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
        by_place[place] = _verdict(*estimates[place], level, previous)
    return [by_place[place] for place in range(len(estimates))]


def _verdict(estimate: StudyEstimate, margin: float, level: float, p_value: float) -> Verdict:
    word: Word = "undecided"
    if p_value < 1 - LEVEL:
        word = "held" if estimate.mean > margin else "not held"
    interval, detectable = estimate.interval(level), estimate.detectable(level)
    return Verdict(word, estimate.mean, interval, level, margin, p_value, detectable)


def _find_problem(claim: Claim, by_run: ByRun, seeds: Sequence[int]) -> str:
    """Return which runs lack a claim's metric, and why; empty if none does."""
    arms = dict.fromkeys((*claim.plus, *claim.minus))
    runs = [by_run[arm, seed] for arm in arms for seed in seeds]
    problems = []
    in_env = f" in {claim.env}" if claim.env else ""
    for run in runs:
        if run.problem:
            problems.append(f"{run.folder}: {run.problem}")
        elif not _has_metric(run, claim) and (claim.among == "all" or run.figures.get("collapsed")):
            problems.append(f"{run.folder}: has no {claim.figure}{in_env}")
    if (
        not problems
        and claim.among == "collapsed"
        and len(_collapsed_means(claim, by_run, seeds)) < 2
    ):
        problems.append("runs of fewer than two seeds collapsed")
    if not problems and claim.figure in BY_INSTANCE:
        instances = _count_instances(runs[0], claim)
        problems += [
            f"{run.folder} was tested on other instances than {runs[0].folder}"
            for run in runs
            if _count_instances(run, claim) != instances
        ]
    return "; ".join(problems)


def _has_metric(run: Outcome, claim: Claim) -> bool:
    if claim.figure in BY_INSTANCE:
        return bool(_by_instance(run, claim))
    return run.figures.get(_metric_name(claim)) is not None


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


def _count_instances(run: Outcome, claim: Claim) -> dict[str, int]:
    return {env: len(values) for env, values in _by_instance(run, claim).items()}


def _values(claim: Claim, by_run: ByRun, seeds: Sequence[int]) -> Values | list[Values]:
    """Return the difference for each seed, (seeds,).

    For a metric with a value for each test instance: (seeds, instances) of each environment.
    """
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


def _estimate(values: Values | list[Values]) -> StudyEstimate:
    return over_seeds_and_instances(values) if isinstance(values, list) else over_seeds(values)


def _by_seed(values: Values | list[Values]) -> Values:
    if isinstance(values, list):
        means: Values = np.mean([of_env.mean(axis=1) for of_env in values], axis=0)
        return means
    return values
