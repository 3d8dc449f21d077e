"""Verdicts on claims: intervals over warm starts and seeds, conditions, and looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from ragen_starpo.studies.definition import GAIN, Claim, Study
from ragen_starpo.studies.metrics import Runs, Values, find_rise, measure, measure_signs

Word: TypeAlias = Literal["higher", "lower", "the same", "undecided", "not testable here"]
Load: TypeAlias = Callable[[str, int], Runs | None]
LEVEL = 0.95
"""Joint level of a study's verdicts over all claims and looks."""
COLLAPSED = 25.0
"""Percentage of an arm's runs that must collapse for a claim about collapse."""
_MIN_WARM_STARTS = 4
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean over independent clusters: Student's t with one degree of freedom less than those."""

    mean: float
    error: float
    clusters: int

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided interval of a level in (0, 1)."""
        half = float(stdtrit(self.clusters - 1, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half

    def p_differs(self) -> float:
        """Return the p-value of a mean of 0.

        Clusters of equal values do not show their spread, so at least that of the sign test.
        """
        if abs(self.mean) <= _ROUNDING:
            return 1.0
        return self._tail(abs(self.mean)) or 0.5 ** (self.clusters - 1)

    def p_same(self, margin: float) -> float:
        """Return the smallest p for which the interval of level 1 - p is within the margins."""
        distance = margin - abs(self.mean)
        return 1.0 if distance <= 0 else self._tail(distance) or 0.5 ** (self.clusters - 1)

    def _tail(self, distance: float) -> float:
        return 2 * float(stdtr(self.clusters - 1, -distance / self.error)) if self.error else 0.0


def over_clusters(values: Values) -> Estimate:
    """Return the mean of one value for each cluster, at least two of them."""
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    mean = float(values.mean())
    return Estimate(mean, spread if spread > _ROUNDING * max(1, abs(mean)) else 0.0, len(values))


def over_warm_starts(values: Values, others: Values | None = None) -> Estimate | None:
    """Return the mean of values, (warm starts, runs), less that of others, within warm starts.

    A run without a value is NaN. Seeds are nested in warm starts, and both are random. The variance
    of the mean is then that between the means of the warm starts, divided by their number: it
    covers both sources, whatever their sizes. Warm starts without a value are left out; None if
    fewer than four have one.
    """
    sides = [values] if others is None else [values, others]
    known = np.all([~np.isnan(side).all(axis=1) for side in sides], axis=0)
    if known.sum() < _MIN_WARM_STARTS:
        return None
    means = [np.nanmean(side[known], axis=1) for side in sides]
    return over_clusters(means[0] if others is None else means[0] - means[1])


def spend(looks: Sequence[int]) -> list[float]:
    """Return the fraction of the error rate that each look may spend.

    It follows the spending function of Lan and DeMets (1983, Biometrika 70) in O'Brien and
    Fleming's form at 5 %. Each look has its increment to itself (Bonferroni), which needs no
    assumption about the correlation of looks.
    """
    normal = NormalDist()
    edge = normal.inv_cdf(0.975)
    spent = [2 * normal.cdf(-edge / math.sqrt(look / looks[-1])) / 0.05 for look in looks]
    return [new - old for old, new in zip([0.0, *spent], spent, strict=False)]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Attributes:
        word: `higher` or `lower` if the interval excludes 0; `the same` if both of its ends are
            within the claim's δ, which takes precedence; `not testable here` if a gate fails.
    """

    word: Word
    why: str  # reason of a word that is not a difference
    estimate: Estimate | None  # the difference; None if it has not been computed
    level: float  # level of the interval, of all claims and looks together at 95 %
    seeds: int  # seeds of each warm start at the look that decided, or at the last one
    levels: Mapping[str, float]  # mean of the metric in each arm
    knob: float | None  # mean of the knob's curve; None without a knob


@dataclass(frozen=True)
class Judgement:
    """The verdicts of a study, in the order of its claims, and the runs that are still to be done.

    `missing` has (arm, first seed, end) of the next look.
    """

    verdicts: list[Verdict]
    missing: list[tuple[str, int, int]]


class Sample:
    """The runs of a study's arms with a number of seeds for each warm start."""

    def __init__(self, study: Study, runs: Mapping[str, Runs], seeds: int) -> None:
        self._study, self._runs, self.seeds = study, runs, seeds
        self._metrics: dict[str, dict[str, Values]] = {}

    def metric(self, arm: str, name: str) -> Values:
        """Return a metric of an arm's runs, (warm starts, seeds)."""
        if arm not in self._metrics:
            self._metrics[arm] = measure(self._runs[arm])
        if name not in self._metrics[arm]:
            self._metrics[arm] |= measure_signs(self._runs[arm])
        return self._metrics[arm][name].reshape(self._study.warm_starts, self.seeds)

    def difference(self, claim: Claim) -> Estimate | None:
        """Return the difference of a claim, with all runs of a side that have a value."""
        plus, minus = (
            [self.metric(arm, claim.metric) for arm in arms] for arms in (claim.plus, claim.minus)
        )
        values = np.concatenate(plus, axis=1)
        if not minus:
            return over_warm_starts(values - claim.than)
        return over_warm_starts(values, np.concatenate(minus, axis=1))

    def levels(self, claim: Claim) -> dict[str, float]:
        """Return the mean of a claim's metric in each of its arms; NaN if no run has one."""
        means = {}
        for arm in (*claim.plus, *claim.minus):
            values = self.metric(arm, claim.metric)
            means[arm] = math.nan if np.isnan(values).all() else float(np.nanmean(values))
        return means

    def knob(self, claim: Claim) -> float | None:
        """Return the mean of the curve of a claim's knob; None without one."""
        if claim.knob is None:
            return None
        curve = self._runs[claim.knob.arm].curves.get(claim.knob.curve)
        known = None if curve is None else curve[~np.isnan(curve)]
        return float(known.mean(dtype=np.float64)) if known is not None and known.size else math.nan

    def _is_same(self, one: str, other: str) -> bool:
        first, second = self._runs[one], self._runs[other]
        return np.array_equal(first.curves["success"], second.curves["success"]) and (
            np.array_equal(first.test, second.test)
        )

    def closed_gate(self, claim: Claim) -> str:
        """Return which gate a claim does not pass; empty if it passes all."""
        # A run that has not risen cannot collapse.
        rising = [*claim.plus, *claim.minus] if claim.about_collapse else []
        for arm in dict.fromkeys([self._study.reference, *rising]):
            if (rise := find_rise(self._runs[arm])) < GAIN:
                name = f"the baseline {arm}" if arm == self._study.reference else arm
                rises = f"rises by {rise:.1f} points" if rise > 0 else "never rises above its start"
                return f"success of {name} {rises}; {GAIN:g} points are needed"
        sides = claim.plus, claim.minus
        if all(len(side) == 1 for side in sides) and self._is_same(*claim.plus, *claim.minus):
            return f"{claim.plus[0]} and {claim.minus[0]} are the same algorithm in this game"
        knob, value = claim.knob, self.knob(claim)
        if knob and value is not None:
            if math.isnan(value):
                return f"{knob.arm} records no {knob.curve}"
            low = -math.inf if knob.least is None else knob.least
            high = math.inf if knob.most is None else knob.most
            if not low <= value <= high:
                side = "not below" if value > high else "not above"
                bound = knob.most if value > high else knob.least
                return f"{knob.curve} is {value:.3g} in {knob.arm}, {side} {bound:g}"
        if claim.about_collapse:
            rates = [self.metric(arm, "collapsed").mean() for arm in (*claim.plus, *claim.minus)]
            if max(rates) < COLLAPSED:
                return f"{max(rates):.0f} % of the runs collapse, fewer than {COLLAPSED:g} %"
        return ""


def judge(study: Study, load: Load, looks: int | None = None) -> Judgement:
    """Return a study's verdicts from the runs so far, look by look.

    A claim is judged at each of its looks until it is decided; what a gate closes at the first
    look stays closed. The error rate is divided by the number of claims (Bonferroni). A step-down
    such as Holm's is not valid here: it gives the rate of a decided claim to the others, as if that
    claim could not have been decided wrongly. But each claim can: "higher" is wrong where there is
    no difference, and "the same" where there is one.
    """
    done: dict[int, Verdict] = {}
    last: dict[int, Verdict] = {}
    schedule = [study.looks_of(claim)[:looks] for claim in study.claims]
    for look in range(max(map(len, schedule), default=0)):
        pending = [n for n, seeds in enumerate(schedule) if n not in done and look < len(seeds)]
        if not pending:
            break
        seeds = max(schedule[n][look] for n in pending)
        arms = list(dict.fromkeys(arm for n in pending for arm in _arms(study, study.claims[n])))
        loaded = {arm: load(arm, seeds) for arm in arms}
        if any(runs is None for runs in loaded.values()):
            before = study.looks[look - 1] if look else 0
            missing = [(arm, before, seeds) for arm, runs in loaded.items() if runs is None]
            return Judgement(_collect(study, done, last), missing)
        sample = Sample(study, {arm: runs for arm, runs in loaded.items() if runs}, seeds)
        _judge_look(study, sample, look, pending, done, last)
    return Judgement(_collect(study, done, last), [])


def _judge_look(
    study: Study,
    sample: Sample,
    look: int,
    pending: Sequence[int],
    done: dict[int, Verdict],
    last: dict[int, Verdict],
) -> None:
    for number in pending:
        claim = study.claims[number]
        estimate = sample.difference(claim)
        why = sample.closed_gate(claim) if look == 0 else ""
        if not why and estimate is None:
            why = f"fewer than {_MIN_WARM_STARTS} warm starts have a value of {claim.metric}"
        if why or estimate is None:
            word: Word = "not testable here"
            done[number] = _verdict(sample, claim, word, why, estimate, LEVEL)
            continue
        rate = (1 - LEVEL) / len(study.claims) * spend(study.looks_of(claim))[look]
        word = decide(estimate, claim.same, rate)
        verdict = _verdict(sample, claim, word, "", estimate, 1 - rate)
        last[number] = verdict
        if word != "undecided":
            done[number] = verdict


def decide(estimate: Estimate, margin: float, rate: float) -> Word:
    """Return the verdict at an error rate: where the interval of level 1 - rate lies."""
    if estimate.p_same(margin) < rate:
        return "the same"
    if estimate.p_differs() >= rate:
        return "undecided"
    return "higher" if estimate.mean > 0 else "lower"


def _verdict(
    sample: Sample, claim: Claim, word: Word, why: str, estimate: Estimate | None, level: float
) -> Verdict:
    return Verdict(
        word, why, estimate, level, sample.seeds, sample.levels(claim), sample.knob(claim)
    )


def _collect(
    study: Study, done: Mapping[int, Verdict], last: Mapping[int, Verdict]
) -> list[Verdict]:
    missing = Verdict("undecided", "its runs are not finished", None, LEVEL, 0, {}, None)
    return [done.get(n) or last.get(n) or missing for n in range(len(study.claims))]


def _arms(study: Study, claim: Claim) -> list[str]:
    knob = [claim.knob.arm] if claim.knob else []
    return [study.reference, *claim.plus, *claim.minus, *knob]
