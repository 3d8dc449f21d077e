"""What a run of a study came to: the figures that claims are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.commands import all_done
from ragen_starpo.diagnostics.cost import milestones, spent
from ragen_starpo.report.reading import TrainingRun, read_training_run
from ragen_starpo.studies.collapse import collapse_figures, rollout_figures
from ragen_starpo.studies.failures import failure_figures
from ragen_starpo.studies.jobs import BEFORE, RUN, TEST, model_name, run_name
from ragen_starpo.studies.predictors import length_figures, predictor_figures
from ragen_starpo.studies.study import Study

_OF_VAL = ("start", "best", "last", "rise", "gain", "fall")
_ANALYSIS = "analysis.json"
FAILED = "failed.txt"
"""In a run's folder: why its last command failed."""


@dataclass(frozen=True)
class Outcome:
    """A run of a study.

    Attributes:
        arm: its name.
        seed: of the run.
        folder: from the study's.
        problem: why it has no figures; empty for a finished run.
        figures: by name, None where the run has none:
            `start`, `best`, `last`, success on val before, at best and after the last iteration;
            `rise`, best less start; `gain`, last less start; `fall`, best less last;
            those of the rollouts, see `rollout_figures`, of a collapse, see `collapse_figures`, of
            what tells success, see `predictor_figures`, and of thoughts, see `length_figures`;
            `trained_tokens`, `generated_tokens`, `environment_turns`, `seconds`, of the whole run;
            `tokens_to_target`, trained until the first validation at the study's target, 0 where
            the first model is there already;
            `test_start`, success of the first model on the test split, the mean of its
            environments, where it was tested;
            of runs whose models think, on the test split: `agreement`, the share of plans in
            thoughts that the answer follows, and `truth`, that of true claims, of the last model;
            `agreement_start` and `truth_start`, of the first one; `agreement_gain` and
            `truth_gain`, last less first;
            of runs that were tested in several environments and analysed, `failures_alike`, see
            `failure_figures`.
        curves: of each figure of training, its iterations and values.
        test: success on each test instance, by environment, in the order of the instances; nothing
            where an environment does not tell success.
        gains: what `test` is above that of the first model, where this was tested.
    """

    arm: str
    seed: int
    folder: str
    problem: str = ""
    figures: dict[str, float | None] = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    test: dict[str, list[float]] = field(default_factory=dict)
    gains: dict[str, list[float]] = field(default_factory=dict)


def outcome(folder: Path, study: Study, arm: str, seed: int) -> Outcome:
    """Return what a run came to.

    Args:
        folder: of the study.
        study: that it is of.
        arm: of the run.
        seed: of the run.
    """
    name = run_name(arm, seed)
    place = folder / name
    try:
        if _failure(place) or not all_done(place):
            model = model_name(study.arms[arm].model, seed)
            of_model = _failure(folder / model)
            why = _failure(place) or (f"{model}: {of_model}" if of_model else "not finished")
            return Outcome(arm, seed, name, why)
        run = read_training_run(place / RUN)
        test = _of_test(place / TEST) if study.test_instances else {}
        before = _of_test(place / BEFORE) if (place / BEFORE).exists() else {}
        figures = {
            **figures_of(run, study.target),
            **_start_of_test(before),
            **figures_of_thoughts(place),
            **_figures_of_failures(place),
        }
        gains = {
            env: [last - first for first, last in zip(values, test[env], strict=True)]
            for env, values in before.items()
        }
    except UserError as error:
        return Outcome(arm, seed, name, str(error))
    return Outcome(arm, seed, name, "", figures, _curves(run), test, gains)


def _failure(place: Path) -> str:
    """Return why a job failed, nothing if it did not."""
    file = place / FAILED
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def figures_of(run: TrainingRun, target: float | None) -> dict[str, float | None]:
    """Return the figures of a training run, see `Outcome`."""
    measured = [line["val/success"] for line in run.metrics if "val/success" in line]
    start = run.start.get("val/success")
    of_val: dict[str, float | None] = dict.fromkeys(_OF_VAL)
    if start is not None and measured:
        best = max(start, *measured)
        of_val = {
            "start": start,
            "best": best,
            "last": measured[-1],
            "rise": best - start,
            "gain": measured[-1] - start,
            "fall": best - measured[-1],
        }
    cost = spent(run.metrics, run.timings, None)
    validated = [(start, 0)] if start is not None else []
    validated += [
        (milestone.success, milestone.spent.trained_tokens)
        for milestone in milestones(run.metrics, run.timings)
    ]
    reached = [tokens for success, tokens in validated if target is not None and success >= target]
    return {
        **of_val,
        **rollout_figures(run),
        **collapse_figures(run),
        **predictor_figures(run),
        **length_figures(run),
        "trained_tokens": float(cost.trained_tokens),
        "generated_tokens": float(cost.generated_tokens),
        "environment_turns": float(cost.environment_turns),
        "seconds": cost.all_seconds,
        "tokens_to_target": float(reached[0]) if reached else None,
    }


def _start_of_test(before: dict[str, list[float]]) -> dict[str, float | None]:
    return {"test_start": fmean(map(fmean, before.values()))} if before else {}


def figures_of_thoughts(place: Path) -> dict[str, float | None]:
    """Return what was measured in a run's thoughts; nothing where none were analysed."""
    if not all((place / folder / _ANALYSIS).exists() for folder in (BEFORE, TEST)):
        return {}
    start, last = (
        [row["reasoning"] for row in read_whole(place / folder / _ANALYSIS)["envs"]]
        for folder in (BEFORE, TEST)
    )
    figures: dict[str, float | None] = {}
    for measures, name in (("plans", "agreement"), ("claims", "truth")):
        before, after = (_mean_of(row[measures][name] for row in rows) for rows in (start, last))
        gain = None if before is None or after is None else after - before
        figures |= {f"{name}_start": before, name: after, f"{name}_gain": gain}
    return figures


def _figures_of_failures(place: Path) -> dict[str, float | None]:
    """Return how alike failures are in what a run was tested in; nothing without an analysis."""
    file = place / TEST / _ANALYSIS
    return failure_figures(read_whole(file)["envs"]) if file.exists() else {}


def _mean_of(shares: Iterable[float | None]) -> float | None:
    """Return the mean over the environments that have such a share; None where none has."""
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None


def _curves(run: TrainingRun) -> dict[str, list[tuple[int, float]]]:
    curves: dict[str, list[tuple[int, float]]] = {}
    # Held-out success before the first iteration stands at -1, so that a curve begins with it.
    for line in [{"iteration": -1, **run.start}, *run.metrics]:
        for name, value in line.items():
            if name != "iteration" and isinstance(value, int | float):
                curves.setdefault(name, []).append((line["iteration"], float(value)))
    return curves


def _of_test(folder: Path) -> dict[str, list[float]]:
    outcomes: dict[str, dict[int, list[float]]] = {}
    for episode in read_run(folder).episodes():
        if episode.success is None:
            return {}
        of_env = outcomes.setdefault(episode.env, {})
        of_env.setdefault(episode.index, []).append(float(episode.success))
    return {
        env: [fmean(of_env[index]) for index in sorted(of_env)] for env, of_env in outcomes.items()
    }


def as_json(run: Outcome) -> dict[str, Any]:
    """Return an outcome as `study.json` has it.

    Test success is there as a rate of each environment, and under `by_instance` as it is here.
    """
    return {
        "arm": run.arm,
        "seed": run.seed,
        "folder": run.folder,
        "problem": run.problem,
        "figures": run.figures,
        "test": {env: fmean(values) for env, values in run.test.items()},
        "gains": {env: fmean(values) for env, values in run.gains.items()},
        "by_instance": {"test": run.test, "gains": run.gains},
    }


def from_json(run: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `as_json` wrote, without its curves.

    Older files have nothing `by_instance`, so that `test` and `gains` are empty.
    """
    known = run.get("by_instance", {"test": {}, "gains": {}})
    return Outcome(
        run["arm"],
        run["seed"],
        run["folder"],
        run["problem"],
        run["figures"],
        test=known["test"],
        gains=known["gains"],
    )
