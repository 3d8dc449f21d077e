"""The numbers of the published findings: the content of `findings.json`, and the curves."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from ragen_bench.json_types import JsonObject
from ragen_starpo.laboratory.settings import read_arm
from ragen_starpo.studies.definition import Claim, Study
from ragen_starpo.studies.metrics import LEADS, Runs, find_missing_signs, find_rise
from ragen_starpo.studies.verdicts import LEVEL, Verdict

_DECIDED = ("higher", "lower", "the same")


class Finding(NamedTuple):
    """A study with its verdicts, in the order of its claims, and its arms' runs by name."""

    study: Study
    verdicts: Sequence[Verdict]
    runs: Mapping[str, Runs]


def make_results(findings: Sequence[Finding]) -> JsonObject:
    """Return the content of `findings.json`."""
    return {"level": LEVEL, "studies": [_make_study(finding) for finding in findings]}


def _make_study(finding: Finding) -> JsonObject:
    study = finding.study
    arms = [
        {
            "name": arm,
            "hash": study.hash_of(arm),
            "task": asdict(study.task_of(arm)),
            "settings": list(study.settings_of(arm)),
            "iterations": study.iterations_of(arm),
            "runs": len(runs.test),
            "start": round(_percent(runs.start), 2),
            "first": round(_percent(runs.curves["success"][:, 0]), 2),
            "rise": round(find_rise(runs), 2),
            "seconds": round(runs.seconds),
            "gpu_seconds": round(runs.gpu_seconds),
        }
        for arm, runs in finding.runs.items()
    ]
    pairs = zip(study.claims, finding.verdicts, strict=True)
    return {
        "name": study.name,
        "question": study.question,
        "reference": study.reference,
        "warm_starts": study.warm_starts,
        "arms": arms,
        "claims": [_make_claim(finding, claim, verdict) for claim, verdict in pairs],
    }


def _make_claim(finding: Finding, claim: Claim, verdict: Verdict) -> JsonObject:
    study = finding.study
    # What a gate closed has a difference that nothing corrects for the other claims.
    estimate = None if verdict.word == "not testable here" else verdict.estimate
    decided = verdict.word in _DECIDED
    interval = estimate.interval(verdict.level) if estimate else ()
    return {
        **asdict(claim),
        "study": study.name,
        "game": study.task_of(claim.plus[0]).title,
        "setting": _describe_setting(study, claim),
        "verdict": verdict.word,
        "as_claimed": verdict.word == claim.says if decided else None,
        "why": verdict.why,
        "mean": _round(estimate.mean if estimate else None),
        "interval": [_round(end) for end in interval],
        "interval_level": round(verdict.level, 6),
        "runs": study.warm_starts * verdict.seeds,
        "levels": {arm: _round(level) for arm, level in verdict.levels.items()},
        "below_start": _ends_below_start(finding, claim, verdict),
        "no_sign": _count_missing_signs(finding, claim, verdict.seeds),
        "knob_value": _round(verdict.knob, 4),
    }


def _describe_setting(study: Study, claim: Claim) -> str:
    """Return the task, the learning rates and the iterations of a claim's arms."""
    arms = (*claim.plus, *claim.minus)
    tasks = [study.task_of(arm) for arm in arms]
    titles = {task.full_title for task in tasks}
    title = titles.pop() if len(titles) == 1 else tasks[0].title
    rates = [read_arm(study.settings_of(arm)).optimiser.learning_rate for arm in arms]
    lengths = map(study.iterations_of, arms)
    # In the order of the arms, each value once.
    numbers = [" and ".join(f"{n:g}" for n in dict.fromkeys(all_)) for all_ in (rates, lengths)]
    return "{}; rate {}, {} iterations".format(title, *numbers)


def _ends_below_start(finding: Finding, claim: Claim, verdict: Verdict) -> bool:
    """Return whether all arms of a claim end below their starting models, on held-out instances."""
    return claim.metric == "test" and all(
        level < _percent(finding.runs[arm].start) for arm, level in verdict.levels.items()
    )


def _count_missing_signs(finding: Finding, claim: Claim, seeds: int) -> dict[str, list[int]]:
    """Return for each arm of a lead the collapsed runs without its sign, and all collapsed runs."""
    counts = {}
    for arm in (*claim.plus, *claim.minus) if claim.metric in LEADS and seeds else ():
        misses = find_missing_signs(finding.runs[arm], claim.metric)
        judged = misses.reshape(finding.study.warm_starts, -1)[:, :seeds]
        counts[arm] = [int(np.nansum(judged)), int(np.isfinite(judged).sum())]
    return counts


def pack_curves(findings: Sequence[Finding]) -> bytes:
    """Return an npz file: by arm's hash, success of each run in half per cent, and mean curves."""
    arrays: dict[str, np.ndarray] = {}
    for finding in findings:
        for arm, runs in finding.runs.items():
            key = finding.study.hash_of(arm)
            arrays[f"{key}/success"] = np.round(200 * runs.curves["success"]).astype(np.uint8)
            for name, values in runs.curves.items():
                if name != "success":
                    known = ~np.isnan(values)
                    total = np.where(known, values, 0).sum(axis=0, dtype=np.float64)
                    mean = total / np.maximum(known.sum(axis=0), 1)
                    mean[~known.any(axis=0)] = math.nan
                    arrays[f"{key}/{name}"] = mean.astype(np.float32)
    content = io.BytesIO()
    save: Callable[..., None] = np.savez_compressed
    save(content, **arrays)
    return content.getvalue()


def _percent(shares: np.ndarray) -> float:
    return 100 * float(shares.mean(dtype=np.float64))


def _round(value: float | None, digits: int = 3) -> float | None:
    return None if value is None or math.isnan(value) else round(value, digits)
