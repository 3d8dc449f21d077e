"""A study's claims, judged by the outcomes of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragen_starpo.studies.estimates import (
    StudyEstimate,
    Values,
    over_seeds,
    over_seeds_and_instances,
)
from ragen_starpo.studies.outcomes import Outcome
from ragen_starpo.studies.study import Claim, Study
from ragen_starpo.studies.verdicts import Verdict, verdicts


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        claim: of the study.
        verdict: None where it cannot be judged yet.
        problem: why it cannot, as the runs that lack the figure; empty where it can.
        differences: of each seed, in their order; empty where it cannot be judged.
    """

    claim: Claim
    verdict: Verdict | None
    problem: str
    differences: list[float]


def judged(study: Study, outcomes: Sequence[Outcome], seeds: int) -> list[Judged]:
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


def _lacking(claim: Claim, by_run: Mapping[tuple[str, int], Outcome], seeds: int) -> str:
    """Return which runs lack a claim's figure, and why."""
    lacking = []
    for arm in dict.fromkeys((*claim.plus, *claim.minus)):
        for seed in range(seeds):
            run = by_run[arm, seed]
            if run.problem:
                lacking.append(f"{run.folder}: {run.problem}")
            elif claim.figure != "test" and run.figures.get(claim.figure) is None:
                lacking.append(f"{run.folder}: has no {claim.figure}")
    return "; ".join(lacking)


def _values(claim: Claim, by_run: Mapping[tuple[str, int], Outcome], seeds: int) -> Values:
    """Return the difference of each seed: (seeds,), of `test` (seeds, instances)."""

    def side(arms: Sequence[str]) -> Values:
        if not arms:
            return np.zeros(())
        of_arms = [
            np.array([_figure(by_run[arm, seed], claim) for seed in range(seeds)]) for arm in arms
        ]
        mean: Values = np.mean(of_arms, axis=0)
        return mean

    return side(claim.plus) - side(claim.minus)


def _figure(run: Outcome, claim: Claim) -> Values:
    """Return a run's figure: a number, of `test` one for each instance.

    In several environments it is the mean over them; their instances are drawn independently, so
    it does not matter which ones meet.
    """
    if claim.figure == "test":
        mean: Values = np.mean(list(run.test.values()), axis=0)
        return mean
    return np.array(run.figures[claim.figure], dtype=float)


def _estimate(values: Values) -> StudyEstimate:
    return over_seeds(values) if values.ndim == 1 else over_seeds_and_instances(values)


def _by_seed(values: Values) -> Values:
    return values if values.ndim == 1 else values.mean(axis=1)
