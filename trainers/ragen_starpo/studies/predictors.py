"""What thoughts tell: how well their figures go with success, and how long the thoughts are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from scipy.stats import spearmanr

from ragen_starpo.report.reading import TrainingRun

_INFORMATION, _ENTROPY = "thoughts/mutual_information", "policy/entropy"
_FEWEST, _LAST = 4, 5
"""Iterations that a rank correlation is taken over, at least, and those of the last level."""
_LENGTH = "rollout/think_characters"


def predictor_figures(run: TrainingRun) -> dict[str, float | None]:
    """Return the rank correlations with success of the rollouts, over a run's iterations.

    Returns:
        Spearman's, from -1 to 1: `information_rank`, of the mutual information of thoughts and
        contexts, `entropy_rank`, of the policy's entropy, and `rank_gain`, the first less the
        second (RAGEN-2, arXiv 2604.06268, compares these). All are of the iterations whose thoughts
        were measured; None where these are few, or where one of the figures never changes. And
        `information_last`, the mean mutual information of the last five of them, in nats; None
        where they are fewer.
    """
    lines = [line for line in run.metrics if _INFORMATION in line and _ENTROPY in line]
    last = [line[_INFORMATION] for line in lines[-_LAST:]]
    level = {"information_last": fmean(last) if len(last) == _LAST else None}
    of_information, of_entropy = (_rank(lines, name) for name in (_INFORMATION, _ENTROPY))
    if of_information is None or of_entropy is None:
        return {**dict.fromkeys(("information_rank", "entropy_rank", "rank_gain")), **level}
    return {
        "information_rank": of_information,
        "entropy_rank": of_entropy,
        "rank_gain": of_information - of_entropy,
        **level,
    }


def length_figures(run: TrainingRun) -> dict[str, float | None]:
    """Return how long thoughts are, in characters, see RAGEN (arXiv 2504.20073), figure 11.

    Returns:
        The means of the first and of the last five iterations, `thought_length_start` and
        `thought_length_last`, and `thought_length_fall`, the first less the last; nothing of a run
        whose rollouts hold no thought, or that has fewer than five iterations.
    """
    lengths = [line[_LENGTH] for line in run.metrics if _LENGTH in line]
    if len(lengths) < _LAST or not any(lengths):
        return {}
    start, last = fmean(lengths[:_LAST]), fmean(lengths[-_LAST:])
    return {
        "thought_length_start": start,
        "thought_length_last": last,
        "thought_length_fall": start - last,
    }


def _rank(lines: Sequence[Mapping[str, float]], name: str) -> float | None:
    values, success = ([line[key] for line in lines] for key in (name, "rollout/success"))
    if len(lines) < _FEWEST or len(set(values)) < 2 or len(set(success)) < 2:
        return None
    return float(spearmanr(values, success).statistic)
