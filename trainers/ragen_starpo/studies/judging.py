"""A study's claims, judged by the outcomes of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from ragen_bench.suites import env_id
from ragen_starpo.studies.estimates import (
    StudyEstimate,
    Values,
    over_seeds,
    over_seeds_and_instances,
)
from ragen_starpo.studies.outcomes import Outcome
from ragen_starpo.studies.study import BY_INSTANCE, Claim, Study
from ragen_starpo.studies.verdicts import Verdict, verdicts


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        claim: of the study.
        verdict: None where it cannot be judged yet.
        problem: why it cannot, as the runs that lack the figure; empty where it can.
        differences: of each seed, in their order, of those with a collapse where it is about them;
            empty where it cannot be judged.
    """

    claim: Claim
    verdict: Verdict | None
    problem: str
    differences: list[float]


def judged(study: Study, outcomes: Sequence[Outcome], seeds: Sequence[int]) -> list[Judged]:
    """Return all claims of a study with their verdicts, in its order.

    A claim whose figure a run lacks is not judged: a run that failed may have failed because of
    what is asked. It counts in Holm's correction all the same, as the last one.

    Args:
        study: whose claims are judged.
        outcomes: of all its runs.
        seeds: of each arm.
    """
    by_run = {(outcome.arm, outcome.seed): outcome for outcome in outcomes}
    problems = [_lacking(claim, by_run, seeds) for claim in study.claims]
    values = [
        None if problem else _values(claim, by_run, seeds)
        for claim, problem in zip(study.claims, problems, strict=True)
    ]
    known = [
        (_estimate(differences), claim.margin)
        for claim, differences in zip(study.claims, values, strict=True)
        if differences is not None
    ]
    of_known = iter(verdicts(known, more=len(study.claims) - len(known)))
    return [
        Judged(claim, None, problem, [])
        if differences is None
        else Judged(claim, next(of_known), "", [float(value) for value in _by_seed(differences)])
        for claim, problem, differences in zip(study.claims, problems, values, strict=True)
    ]


def _lacking(claim: Claim, by_run: Mapping[tuple[str, int], Outcome], seeds: Sequence[int]) -> str:
    """Return which runs lack a claim's figure, and why."""
    arms = dict.fromkeys((*claim.plus, *claim.minus))
    runs = [by_run[arm, seed] for arm in arms for seed in seeds]
    lacking = []
    of_env = f" in {claim.env}" if claim.env else ""
    for run in runs:
        if run.problem:
            lacking.append(f"{run.folder}: {run.problem}")
        elif not _has(run, claim) and (claim.among == "all" or run.figures.get("collapsed")):
            lacking.append(f"{run.folder}: has no {claim.figure}{of_env}")
    if not lacking and claim.among == "collapsed" and len(_collapsed(claim, by_run, seeds)) < 2:
        lacking.append("runs of fewer than two seeds collapsed")
    if not lacking and claim.figure in BY_INSTANCE:
        of_first = _tested(runs[0], claim)
        lacking += [
            f"{run.folder} was tested on other instances than {runs[0].folder}"
            for run in runs
            if _tested(run, claim) != of_first
        ]
    return "; ".join(lacking)


def _has(run: Outcome, claim: Claim) -> bool:
    if claim.figure in BY_INSTANCE:
        return bool(_of_instances(run, claim))
    return run.figures.get(_name(claim)) is not None


def _name(claim: Claim) -> str:
    """Return the name of a claim's figure, of an environment where the claim is about one."""
    return f"{claim.figure}/{env_id(claim.env)}" if claim.env else claim.figure


def _of_instances(run: Outcome, claim: Claim) -> dict[str, list[float]]:
    """Return a figure of each test instance, of the environments that a claim is about."""
    values = run.test if claim.figure == "test" else run.gains
    return {env: of for env, of in values.items() if claim.env in ("", env.partition("/")[2], env)}


def _tested(run: Outcome, claim: Claim) -> dict[str, int]:
    return {env: len(values) for env, values in _of_instances(run, claim).items()}


def _values(
    claim: Claim, by_run: Mapping[tuple[str, int], Outcome], seeds: Sequence[int]
) -> Values | list[Values]:
    """Return the difference of each seed: (seeds,).

    Of what is known of each test instance it is (seeds, instances), by environment.
    """
    if claim.among == "collapsed":
        return np.array(_collapsed(claim, by_run, seeds))
    if claim.figure not in BY_INSTANCE:
        figures = {at: np.array(run.figures.get(_name(claim))) for at, run in by_run.items()}
        return _difference(claim, figures, seeds)
    tested = {at: _of_instances(run, claim) for at, run in by_run.items()}
    return [
        _difference(claim, {at: np.array(envs.get(env)) for at, envs in tested.items()}, seeds)
        for env in tested[claim.plus[0], seeds[0]]
    ]


def _collapsed(
    claim: Claim, by_run: Mapping[tuple[str, int], Outcome], seeds: Sequence[int]
) -> list[float]:
    """Return the mean of the figure over the runs of each seed that collapsed, where any did.

    Runs of a seed begin with the same model, so they count as one.
    """
    means = []
    for seed in seeds:
        figures = [by_run[arm, seed].figures for arm in claim.plus]
        values = [of_run[_name(claim)] for of_run in figures if of_run.get("collapsed")]
        if values:
            means.append(fmean(value for value in values if value is not None))
    return means


def _difference(
    claim: Claim, figures: Mapping[tuple[str, int], Values], seeds: Sequence[int]
) -> Values:
    """Return the mean over `plus` less that over `minus`, of which the first axis is the seed."""

    def side(arms: Sequence[str]) -> Values:
        of_arms = [np.array([figures[arm, seed] for seed in seeds]) for arm in arms]
        mean: Values = np.mean(of_arms, axis=0, dtype=float)
        return mean

    return side(claim.plus) - side(claim.minus) if claim.minus else side(claim.plus)


def _estimate(values: Values | list[Values]) -> StudyEstimate:
    return over_seeds_and_instances(values) if isinstance(values, list) else over_seeds(values)


def _by_seed(values: Values | list[Values]) -> Values:
    if isinstance(values, list):
        means: Values = np.mean([of_env.mean(axis=1) for of_env in values], axis=0)
        return means
    return values
