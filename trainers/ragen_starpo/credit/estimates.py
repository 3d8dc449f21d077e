"""Advantage estimators against the true advantages of turns, at a frozen policy.

The error of an estimate has two parts: what all batches of the same prompts share for equal
histories and answers (bias), and the rest (standard deviation).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from scipy.stats import spearmanr
from torch import Tensor

from ragen_bench.json_types import JsonObject
from ragen_starpo.credit.turns import (
    ENSEMBLE,
    EstimatorVariant,
    Size,
    Turns,
    collect_turns,
    find_root,
)
from ragen_starpo.laboratory.model import Weights
from ragen_starpo.studies.definition import Task

_TURN, _SHORT = 'advantage.credit="turn"', "advantage.lam=0.9"
ESTIMATES: Mapping[str, EstimatorVariant] = {
    "grpo": EstimatorVariant("grpo"),
    "dr-grpo": EstimatorVariant("dr-grpo"),
    "rloo": EstimatorVariant("rloo"),
    "reinforce-plus-plus": EstimatorVariant("reinforce-plus-plus"),
    "reinforce-plus-plus, credit turn": EstimatorVariant("reinforce-plus-plus", (_TURN,)),
    "reinforce-plus-plus-baseline": EstimatorVariant("reinforce-plus-plus-baseline"),
    "gae": EstimatorVariant("gae"),
    "gae, credit turn": EstimatorVariant("gae", (_TURN,)),
    "gae, credit turn, lam 0.9": EstimatorVariant("gae", (_TURN, _SHORT)),
    f"gae, credit turn, {ENSEMBLE} critics": EstimatorVariant("gae", (_TURN,), ENSEMBLE),
    f"gae, credit turn, lam 0.9, {ENSEMBLE} critics": EstimatorVariant(
        "gae", (_TURN, _SHORT), ENSEMBLE
    ),
    "bi-level-gae": EstimatorVariant("bi-level-gae", (_TURN,)),
    "bi-level-gae, gamma_turn 1, lam 0.5": EstimatorVariant(
        "bi-level-gae", (_TURN, "advantage.gamma_turn=1.0", "advantage.lam=0.5")
    ),
    "hybrid": EstimatorVariant("hybrid"),
    "hybrid, credit turn": EstimatorVariant("hybrid", (_TURN,)),
    "gigpo": EstimatorVariant("gigpo", (_TURN,)),
    "turn-grpo": EstimatorVariant("turn-grpo", (_TURN,)),
}
"""The estimates that are compared, by name."""
RATES = {"none": 0.0, "up to half": 0.5, "over half": 1 - 1e-9, "all": 1.0}
"""Largest success rate of the groups of a class."""


def compare_estimators(task: Task, weights: Weights, size: Size) -> JsonObject:
    """Return the metrics of all estimates at a frozen policy, weights (1, ...)."""
    turns = collect_turns(task, weights, size, ESTIMATES)
    spread = turns.truth.square().mean() - turns.variance.mean()
    classes: dict[str, Tensor] = {"all": torch.ones_like(turns.pair, dtype=torch.bool)}
    for position in range(int(turns.position.max()) + 1):
        classes[f"turn {position + 1}"] = turns.position == position
    lowest = -1.0
    for name, highest in RATES.items():
        classes[f"success {name}"] = (turns.success > lowest) & (turns.success <= highest)
        lowest = highest
    return {
        "turns": len(turns.truth),
        "pairs": len(set(turns.pair.tolist())),
        "truth_rms": find_root(spread),
        "truth_error": find_root(turns.variance.mean()),
        "critic_error": turns.critic_error,
        "estimates": {
            name: {
                label: measure(estimate, turns, where)
                for label, where in classes.items()
                if where.any()
            }
            for name, estimate in turns.estimates.items()
        },
    }


def measure(estimate: Tensor, turns: Turns, where: Tensor) -> JsonObject:
    """Return metrics of an estimate on some turns.

    It is scaled once for all turns, so that its squared error is least. Squared errors are less
    the truth's own. An estimate has the wrong sign, or none, among turns whose truth is beyond two
    standard errors from 0.
    """
    scale = (estimate * turns.truth).sum() / estimate.square().sum().clamp(min=1e-12)
    truth, noise, given = turns.truth[where], turns.variance[where], estimate[where]
    error = scale * given - truth
    is_sure = truth.abs() > 2 * noise.sqrt() + 1e-6
    signs = (given.sign() * truth.sign())[is_sure]
    correlation = (
        float(spearmanr(given.numpy(), truth.numpy()).statistic)
        if bool((given != given[0]).any()) and bool((truth != truth[0]).any())
        else None
    )
    bias, deviation = split_error(error, noise, turns.pair[where], turns.batch[where])
    return {
        "turns": len(truth),
        "sure": len(signs),
        "mean_error": float(error.mean()),
        "bias": bias,
        "deviation": deviation,
        "rmse": find_root((error.square() - noise).mean()),
        "spearman": correlation,
        "wrong_sign": float((signs < 0).double().mean()) if len(signs) else None,
        "no_sign": float((signs == 0).double().mean()) if len(signs) else None,
    }


def split_error(
    error: Tensor, noise: Tensor, pair: Tensor, batch: Tensor
) -> tuple[float | None, float | None]:
    """Return root mean squares of the errors that batches share, and of the rest.

    Only turns count whose pair of history and answer occurs in several batches: the mean product
    of the errors of two batches is the square of what they share.
    """
    _, of_pair = torch.unique(pair, return_inverse=True)
    cell = of_pair * (int(batch.max()) + 1) + batch
    _, cell = torch.unique(cell, return_inverse=True)
    pairs, cells = int(of_pair.max()) + 1, int(cell.max()) + 1

    def total(values: Tensor, index: Tensor, count: int) -> Tensor:
        return torch.zeros(count, dtype=torch.float64).index_add(0, index, values.double())

    of_cell = torch.zeros(cells, dtype=torch.long).scatter(0, cell, of_pair)
    ones = torch.ones_like(error)
    count = total(ones, of_pair, pairs)
    others = count.square() - total(total(ones, cell, cells).square(), of_cell, pairs)
    products = total(error, of_pair, pairs).square()
    products = products - total(total(error, cell, cells).square(), of_cell, pairs)
    shared = products / others.clamp(min=1) - total(noise, of_pair, pairs) / count
    counts = (others > 0)[of_pair]
    if not counts.any():
        return None, None
    squares = (error.square() - noise)[counts].mean()
    bias = shared[of_pair][counts].mean()
    return find_root(bias), find_root(squares - bias)
