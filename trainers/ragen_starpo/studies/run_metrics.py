"""Computes the metrics of one run, which a study's claims are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from scipy.stats import spearmanr

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.json_lines import read_whole
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.diagnostics.cost import list_milestones, sum_cost
from ragen_starpo.report import TrainingRun
from ragen_starpo.studies.jobs import BEFORE, TEST

RunMetrics: TypeAlias = dict[str, float | None]
_WINDOW = 5
"""Iterations of a moving average."""
_MIN_RANKED = 4
"""Minimum number of iterations of a rank correlation."""
_SUCCESS, _ENTROPY = "rollout/success", "policy/entropy"
_INFORMATION, _LENGTH = "thoughts/mutual_information", "rollout/think_characters"
ANALYSIS = "analysis.json"
"""File in an evaluation's folder."""


def measure_training(run: TrainingRun, target: float | None) -> RunMetrics:
    """Return all metrics that follow from the files of a training run.

    Success on val: `start`, `best`, `last`; `rise` (best - start), `gain` (last - start) and `fall`
    (best - last). Cost of the whole run: `trained_tokens`, `generated_tokens`, `environment_turns`,
    `seconds`; `tokens_to_target`, trained tokens until the first validation that reaches the
    target, 0 if the first model does. And the metrics of `measure_rollouts`, `measure_collapse`,
    `measure_information`, `measure_thought_length`.
    """
    validated = [line["val/success"] for line in run.metrics if "val/success" in line]
    start = run.start.get("val/success")
    on_val: RunMetrics = dict.fromkeys(("start", "best", "last", "rise", "gain", "fall"))
    if start is not None and validated:
        best, last = max(start, *validated), validated[-1]
        on_val = {"start": start, "best": best, "last": last}
        on_val |= {"rise": best - start, "gain": last - start, "fall": best - last}
    cost = sum_cost(run.metrics, run.timings)
    costs = [(start, 0)] if start is not None else []
    costs += [
        (milestone.success, milestone.spent.trained_tokens)
        for milestone in list_milestones(run.metrics, run.timings)
    ]
    reached = [tokens for success, tokens in costs if target is not None and success >= target]
    return {
        **on_val,
        **measure_rollouts(run),
        **measure_collapse(run),
        **measure_information(run),
        **measure_thought_length(run),
        "trained_tokens": float(cost.trained_tokens),
        "generated_tokens": float(cost.generated_tokens),
        "environment_turns": float(cost.environment_turns),
        "seconds": cost.all_seconds,
        "tokens_to_target": float(reached[0]) if reached else None,
    }


def measure_rollouts(run: TrainingRun) -> RunMetrics:
    """Return the success of the rollouts, which play new train instances in each iteration.

    Moving averages of five iterations: `rollouts_start`, the first; `rollouts_best`, the highest;
    `rollouts_last`, the last; `rollouts_rise`, the highest less the first. And `rollouts_mean`,
    over all iterations. None for a run of fewer than five iterations.
    """
    success = [line[_SUCCESS] for line in run.metrics]
    averages = _moving_averages(success)
    if not averages:
        names = ("start", "best", "last", "rise", "mean")
        return {f"rollouts_{name}": None for name in names}
    return {
        "rollouts_start": averages[0],
        "rollouts_best": max(averages),
        "rollouts_last": averages[-1],
        "rollouts_rise": max(averages) - averages[0],
        "rollouts_mean": fmean(success),
    }


def measure_collapse(run: TrainingRun) -> RunMetrics:
    """Return whether the rollouts' success collapsed, and which signs came before.

    `collapsed`, 1 if success falls for good (see `find_lasting_fall`); `collapse_iteration`, the
    iteration of that fall, or the number of iterations; `warned`, 1 if the monitor warned no later
    than a collapse; `warning_right`, 1 if the monitor warned exactly when there was a collapse. For
    runs that collapsed, the lead in iterations: `warning_lead` of the first warning,
    `deviation_lead` and `entropy_lead` of the lasting fall of the reward's standard deviation and
    of the entropy, `gradient_lead` of the lasting rise of the gradient norm. A sign that never
    comes counts as coming after the last iteration.
    """
    end = len(run.metrics)
    collapse = find_lasting_fall([line[_SUCCESS] for line in run.metrics])
    first = min((line["iteration"] for line in run.warnings), default=None)
    warned = first is not None and (collapse is None or first <= collapse)
    signs = {
        "warning_lead": first,
        "deviation_lead": find_lasting_fall(_fill_forward(run, "rollout/reward_deviation")),
        "entropy_lead": find_lasting_fall(_fill_forward(run, _ENTROPY)),
        "gradient_lead": find_lasting_rise(_fill_forward(run, "policy/grad_norm")),
    }
    leads = {
        name: None if collapse is None else float(collapse - (end if sign is None else sign))
        for name, sign in signs.items()
    }
    return {
        "collapsed": float(collapse is not None),
        "collapse_iteration": float(end if collapse is None else collapse),
        "warned": float(warned),
        "warning_right": float(warned == (collapse is not None)),
        **leads,
    }


def find_lasting_fall(values: Sequence[float]) -> int | None:
    """Return the iteration from which all moving averages are at most half the peak, or None."""
    averages = _moving_averages(values)
    peak = max(averages, default=0.0)
    if not peak or averages[-1] > peak / 2:
        return None
    return max(place for place, level in enumerate(averages) if level > peak / 2) + _WINDOW


def find_lasting_rise(values: Sequence[float]) -> int | None:
    """Return the iteration from which all moving averages are at least twice the first, or None."""
    averages = _moving_averages(values)
    if not averages or not averages[0] or averages[-1] < 2 * averages[0]:
        return None
    return max(place for place, level in enumerate(averages) if level < 2 * averages[0]) + _WINDOW


def measure_information(run: TrainingRun) -> RunMetrics:
    """Return how well the information of thoughts, and the entropy, predict rollout success.

    RAGEN-2 (arXiv 2604.06268) compares these rank correlations: Spearman's with success over the
    iterations whose thoughts were measured, `information_rank` of the mutual information of
    thoughts and contexts, `entropy_rank` of the policy's entropy, and `rank_gain`, the first less
    the second. None for fewer than four iterations, or if one of the metrics is constant. And
    `information_last`, the mean mutual information in nats of the last five such iterations, None
    if there are fewer.
    """
    lines = [line for line in run.metrics if _INFORMATION in line and _ENTROPY in line]
    last = [line[_INFORMATION] for line in lines[-_WINDOW:]]
    of_information, of_entropy = (_rank(lines, name) for name in (_INFORMATION, _ENTROPY))
    ranks: RunMetrics = dict.fromkeys(("information_rank", "entropy_rank", "rank_gain"))
    if of_information is not None and of_entropy is not None:
        ranks = {
            "information_rank": of_information,
            "entropy_rank": of_entropy,
            "rank_gain": of_information - of_entropy,
        }
    return {**ranks, "information_last": fmean(last) if len(last) == _WINDOW else None}


def measure_thought_length(run: TrainingRun) -> RunMetrics:
    """Return the length of thoughts in characters (RAGEN, arXiv 2504.20073, figure 11).

    Means of the first and the last five iterations, `thought_length_start` and
    `thought_length_last`, and their difference, `thought_length_fall`. Empty for a run without
    thoughts, or of fewer than five iterations.
    """
    lengths = [line[_LENGTH] for line in run.metrics if _LENGTH in line]
    if len(lengths) < _WINDOW or not any(lengths):
        return {}
    start, last = fmean(lengths[:_WINDOW]), fmean(lengths[-_WINDOW:])
    return {
        "thought_length_start": start,
        "thought_length_last": last,
        "thought_length_fall": start - last,
    }


def measure_thoughts(folder: Path) -> RunMetrics:
    """Return the metrics of thoughts on the test split; empty if they were not analysed.

    `agreement`, the fraction of plans in thoughts that the response follows, and `truth`, the
    fraction of true claims, both of the last model; `agreement_start` and `truth_start`, of the
    first model; `agreement_gain` and `truth_gain`, their differences.
    """
    if not all((folder / test / ANALYSIS).exists() for test in (BEFORE, TEST)):
        return {}
    start, last = (
        [row["reasoning"] for row in read_whole(folder / test / ANALYSIS)["envs"]]
        for test in (BEFORE, TEST)
    )
    metrics: RunMetrics = {}
    for measure, name in (("plans", "agreement"), ("claims", "truth")):
        before, after = (
            fmean(known) if (known := [x for x in values if x is not None]) else None
            for values in ([row[measure][name] for row in rows] for rows in (start, last))
        )
        gain = None if before is None or after is None else after - before
        metrics |= {f"{name}_start": before, name: after, f"{name}_gain": gain}
    return metrics


def compare_failures(envs: Sequence[JsonObject]) -> RunMetrics:
    """Return how similar the causes of failure are in the environments of an `analysis.json`.

    The similarity of two environments is the sum over labels of the smaller of the label's two
    fractions of failed episodes: 1 for equal fractions, 0 if no label occurs in both.
    `failures_alike/ENV` compares each later environment with the first, and `failures_alike` is the
    mean; None where the model never failed. Empty for a single environment.
    """
    if len(envs) < 2:
        return {}
    first, *others = [
        {failure["label"]: failure["episodes"] / row["failed"] for failure in row["failures"]}
        for row in envs
    ]
    alike: RunMetrics = {}
    for row, other in zip(envs[1:], others, strict=True):
        overlap = (min(rate, other.get(label, 0.0)) for label, rate in sorted(first.items()))
        alike[f"failures_alike/{row['env']}"] = sum_in_order(overlap) if first and other else None
    known = [value for value in alike.values() if value is not None]
    return {"failures_alike": fmean(known) if len(known) == len(others) else None, **alike}


def _moving_averages(values: Sequence[float]) -> list[float]:
    return [fmean(values[end - _WINDOW : end]) for end in range(_WINDOW, len(values) + 1)]


def _fill_forward(run: TrainingRun, name: str) -> list[float]:
    """Return a metric by iteration; a missing value repeats the one before, at first 0."""
    values = [0.0]
    for line in run.metrics:
        values.append(line.get(name, values[-1]))
    return values[1:]


def _rank(lines: Sequence[Mapping[str, float]], name: str) -> float | None:
    values, success = ([line[key] for line in lines] for key in (name, _SUCCESS))
    if len(lines) < _MIN_RANKED or len(set(values)) < 2 or len(set(success)) < 2:
        return None
    return float(spearmanr(values, success).statistic)
