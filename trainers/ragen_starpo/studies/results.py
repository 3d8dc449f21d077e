"""A study's results as one object, from which its pages are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ragen_bench.runs.atomic import write_text
from ragen_starpo.studies.bands import Band, band, joined
from ragen_starpo.studies.earlier import Earlier
from ragen_starpo.studies.estimates import over_seeds
from ragen_starpo.studies.jobs import run_name
from ragen_starpo.studies.judging import Judged, judged
from ragen_starpo.studies.outcomes import Outcome, as_json, outcome
from ragen_starpo.studies.study import Scale, Study

Results: TypeAlias = dict[str, Any]
_SCHEMA = 1
_LEVEL = 0.95
CURVES = {
    "val/success": "Held-out success",
    "rollout/success": "Success of rollouts",
    "rollout/reward_deviation": "Reward deviation in groups",
    "policy/entropy": "Entropy",
    "policy/grad_norm": "Norm of the gradient",
    "thoughts/mutual_information": "Mutual information of thoughts and contexts",
}
"""The figures that the pages draw over iterations, by their names in `metrics.jsonl`."""


def results(
    study: Study, scale: Scale, seeds: int, folder: Path, earlier: Earlier | None = None
) -> Results:
    """Return what a study's runs came to, also while some are missing.

    Args:
        study: that was run.
        scale: of it.
        seeds: of each arm, at least as many as the earlier runs have.
        folder: of the study.
        earlier: runs that were played elsewhere; they stand for those of the folder.

    Returns:
        `schema`; `study`, `scale`, `seeds`; `arms`, for each its `name`, its `figures` as `mean`
        and `interval` over seeds (of 95 % by Student's t, None where a run lacks it), and its
        `curves`, by figure the band of its finished runs; `claims`, each with its `verdict`;
        `runs`, all of them; `earlier`, how many `runs` of these were played elsewhere, and the
        `sha256` of the file that they were taken from, None if there is none.
    """
    numbers, elsewhere = study.numbered(seeds), earlier or Earlier()
    outcomes = [
        elsewhere.outcomes.get(run_name(arm, seed)) or outcome(folder, study, arm, seed)
        for arm in study.arms
        for seed in numbers
    ]
    return {
        "schema": _SCHEMA,
        "study": json.loads(json.dumps(asdict(study))),
        "scale": scale,
        "seeds": seeds,
        "arms": [
            _arm(arm, [outcome for outcome in outcomes if outcome.arm == arm], elsewhere)
            for arm in study.arms
        ],
        "claims": [_claim(claim) for claim in judged(study, outcomes, numbers)],
        "runs": [as_json(run) for run in outcomes],
        "earlier": earlier and {"runs": len(earlier.outcomes), "sha256": earlier.sha256},
    }


def write_results(folder: Path, study_results: Results) -> None:
    """Write `study.json`."""
    write_text(folder / "study.json", json.dumps(study_results, indent=1) + "\n")


def _claim(claim: Judged) -> Results:
    verdict = asdict(claim.verdict) if claim.verdict else None
    return {
        **json.loads(json.dumps(asdict(claim.claim))),
        "verdict": verdict,
        "problem": claim.problem,
        "differences": claim.differences,
    }


def _arm(name: str, outcomes: Sequence[Outcome], earlier: Earlier) -> Results:
    figures = dict.fromkeys(figure for outcome in outcomes for figure in outcome.figures)
    tested = [run.test for run in outcomes], [run.gains for run in outcomes]
    of_test, of_gains = ([_mean(values) for values in of_runs] for of_runs in tested)
    return {
        "name": name,
        "figures": {
            "test": _over_runs(of_test),
            "test_gain": _over_runs(of_gains),
            **{
                figure: _over_runs([run.figures.get(figure) for run in outcomes])
                for figure in figures
            },
        },
        "curves": _curves(name, outcomes, earlier),
    }


def _curves(arm: str, outcomes: Sequence[Outcome], earlier: Earlier) -> dict[str, Band]:
    """Return the bands of an arm's finished runs."""
    here = [run for run in outcomes if not run.problem and run.folder not in earlier.outcomes]
    runs = earlier.of_arm(arm), len(here)
    return {
        name: joined(
            earlier.bands.get(arm, {}).get(name, []),
            band([run.curves.get(name, []) for run in here]),
            runs,
        )
        for name in CURVES
    }


def _mean(by_env: Mapping[str, Sequence[float]]) -> float | None:
    """Return the mean of the environments' means; None of none."""
    return float(np.mean([np.mean(values) for values in by_env.values()])) if by_env else None


def _over_runs(values: Sequence[float | None]) -> Results | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    estimate = over_seeds(np.array(known))
    return {"mean": estimate.mean, "interval": list(estimate.interval(_LEVEL))}
