"""Advantages and losses of token batches, as the recipe sets them; the same for every driver."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from ragen_starpo.algorithms.advantages import (
    find_turn_ends,
    place_on_last_token,
    place_on_turn_ends,
)
from ragen_starpo.algorithms.algorithm import Loss
from ragen_starpo.algorithms.losses import MAX_LOG_RATIO, compute_log_ratio, kl_penalty, value_loss
from ragen_starpo.algorithms.masked import masked_mean, trajectory_sums
from ragen_starpo.algorithms.registry import ESTIMATORS, LOSSES
from ragen_starpo.engine.worker import Contribution
from ragen_starpo.recipes.sections import (
    AdvantageSettings,
    CorrectionSettings,
    LossSettings,
)
from ragen_starpo.rollout.trajectory import TokenBatch

REFERENCE, CORRECTION = "reference", "correction"
"""Columns of a KL term: log-probabilities of the reference, and weights of the correction."""
OPTIONAL = (REFERENCE, CORRECTION, *Loss.optional)
"""Columns that some recipes need, see `optional_columns`."""


def compute_advantages(
    settings: AdvantageSettings, batch: TokenBatch, values: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Compute advantages of all sampled tokens, and returns for the critic if there is one.

    Returns are compared in 64 bits; results have the dtype of log-probabilities. A trajectory
    of several sequences has the advantages that the same tokens and values would have in one.
    ValueError if the estimator needs a critic, and `values` is None.
    """
    estimator = ESTIMATORS.find(settings.estimator)
    if estimator.critic and values is None:
        raise ValueError(f"{estimator.name} needs the values of a critic")
    layout = TrajectoryLayout(batch)
    joined, dtype = layout.batch, batch.log_probs.dtype
    result = estimator(
        settings,
        rewards=(
            place_on_turn_ends(joined.turn_rewards, joined.turns, joined.mask)
            if settings.credit == "turn"
            else place_on_last_token(joined.scores, joined.mask)
        ),
        values=None if values is None else layout.join(values),
        mask=joined.mask,
        ends=find_turn_ends(joined.turns, joined.mask),
        scores=joined.scores,
        groups=joined.groups,
        turns=joined.turns,
        turn_rewards=joined.turn_rewards,
        states=joined.states,
    )
    advantages, returns = result if isinstance(result, tuple) else (result, None)
    if not estimator.critic or returns is None:
        return layout.split(advantages).to(dtype), None
    return layout.split(advantages).to(dtype), layout.split(returns).to(dtype)


def correct_gap(
    settings: CorrectionSettings, advantages: Tensor, log_probs: Tensor, batch: TokenBatch
) -> tuple[Tensor, dict[str, float]]:
    """Return advantages times truncated importance weights, and metrics of the weights.

    Level `none` changes nothing. The surrogate loss is linear in an advantage, so this weights
    the loss of each token, by its own ratio or by the product of its trajectory's ratios.
    `log_probs` are those of the policy in training before the first step.

    Metrics: `correction/weight`, the mean weight of a token; `correction/truncated`, the
    fraction of tokens whose weight the threshold cut; `correction/effective`, the effective
    sample size as a fraction of the tokens, 1 for equal weights; and `correction/kl`, the mean
    of the engine's minus the trainer's log-probability.
    """
    if settings.level == "none":
        return advantages, {}
    mask = batch.mask
    ratio = torch.exp(_join_tokens(settings.level, log_probs - batch.log_probs, batch)) * mask
    weights = ratio.clamp(max=settings.threshold)
    mean = masked_mean(weights, mask)
    metrics = {
        "weight": mean,
        "truncated": masked_mean((ratio > settings.threshold).to(ratio.dtype), mask),
        "effective": mean.square() / masked_mean(weights.square(), mask),
        "kl": masked_mean(batch.log_probs - log_probs, mask),
    }
    return advantages * weights, {f"correction/{name}": float(v) for name, v in metrics.items()}


def reject_tokens(
    settings: CorrectionSettings, log_probs: Tensor, batch: TokenBatch
) -> tuple[Tensor, dict[str, float]]:
    """Return (sequences, tokens) 1 on sampled tokens whose ratio is within the bounds.

    The ratio is that of `correct_gap`, and with `reject` of `sequence-mean` the geometric mean of a
    trajectory's ratios. As in verl, the ratio of each token is bounded before they are joined. The
    metric `correction/rejected` is the fraction of sampled tokens that are out of the bounds; there
    is none without a rejection.
    """
    if settings.reject == "none":
        return batch.mask, {}
    bounded = (log_probs - batch.log_probs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    log_ratio = _join_tokens(settings.reject, bounded, batch)
    low, high = math.log(settings.reject_low), math.log(settings.reject_high)
    kept = batch.mask * ((log_ratio >= low) & (log_ratio <= high))
    return kept, {"correction/rejected": 1 - float(masked_mean(kept.double(), batch.mask))}


def _join_tokens(level: str, log_ratio: Tensor, batch: TokenBatch) -> Tensor:
    """Return the bounded log-ratio of trainer and engine, of each token or of its trajectory."""
    mask = batch.mask
    log_ratio = torch.where(mask.bool(), log_ratio, 0.0)
    if level != "token":
        total = trajectory_sums(log_ratio.sum(1), batch.trajectories)
        if level == "sequence-mean":
            total = total / trajectory_sums(mask.sum(1), batch.trajectories).clamp(min=1)
        log_ratio = total[:, None].expand_as(log_ratio)
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def optional_columns(loss: LossSettings, correction: CorrectionSettings) -> list[str]:
    """Return the names of the columns that a recipe's loss needs."""
    weighted = loss.kl and loss.kl_ratio and correction.level != "none"
    return [
        *([REFERENCE] if loss.kl else []),
        *([CORRECTION] if weighted else []),
        *LOSSES.find(loss.policy).columns,
    ]


def number_sequences(settings: LossSettings, batch: TokenBatch) -> Tensor:
    """Return (sequences, tokens) the number of the trajectory or turn that `loss.sequence` sets."""
    numbers = batch.trajectories[:, None]
    if settings.sequence == "turn":
        return numbers * (batch.turns.max() + 1) + batch.turns
    return numbers.expand_as(batch.turns)


def find_trained_tokens(settings: LossSettings, batch: TokenBatch) -> Tensor:
    """Return (sequences, tokens) 1 on sampled tokens that are trained on."""
    trained = batch.mask * (1 - batch.cut) if settings.mask_truncated else batch.mask
    return trained * (1 - batch.void)[:, None] if settings.mask_void_turns else trained


def policy_contribution(
    settings: LossSettings, log_probs: Tensor, entropies: Tensor, columns: Mapping[str, Tensor]
) -> Contribution:
    """Compute the contribution of some rows to the policy's loss, and its metrics.

    Log-probabilities have their gradient. Columns are `mask`, `weights`, `advantages`,
    `old_log_probs` and those of `optional_columns`.

    With `kl_ratio` the KL term is weighted by the ratio of probabilities, and by the weights of
    the correction if there is one. Its value and its gradient then have the expectations of the
    policy in training, except that contexts remain those of the policy that sampled.
    """
    mask, weights, old = columns["mask"], columns["weights"], columns["old_log_probs"]
    loss = LOSSES.find(settings.policy)
    losses, metrics = loss(
        settings,
        log_probs=log_probs,
        old_log_probs=old,
        advantages=columns["advantages"],
        mask=mask,
        **{name: columns[name] for name in loss.columns},
    )
    total = (losses * weights).sum() - settings.entropy * (entropies * weights).sum()
    log_ratio = compute_log_ratio(log_probs.detach(), old, mask)
    metrics["kl_from_rollouts"] = masked_mean(-log_ratio, mask)
    metrics["entropy"] = masked_mean(entropies.detach(), mask)
    if settings.kl:
        kl = kl_penalty(log_probs, columns[REFERENCE], settings.kl_estimator)
        if settings.kl_ratio:
            kl = kl * torch.exp(log_ratio) * columns.get(CORRECTION, 1.0)
        total = total + settings.kl * (kl * weights).sum()
        metrics["kl_from_reference"] = masked_mean(kl.detach(), mask)
    return total, metrics


def value_contribution(
    settings: LossSettings, values: Tensor, columns: Mapping[str, Tensor]
) -> Contribution:
    """Compute the critic's loss of some rows, from `mask`, `weights`, `old_values`, `returns`."""
    mask, returns = columns["mask"], columns["returns"]
    losses, clip_fraction = value_loss(
        values, columns["old_values"], returns, mask, settings.value_clip
    )
    errors = (returns - values.detach()).square()
    return (losses * columns["weights"]).sum(), {
        "squared_error": masked_mean(errors, mask),
        "value_clip_fraction": clip_fraction,
    }


class TrajectoryLayout:
    """Conversion between rows of sequences and rows of trajectories.

    With a limited history each turn is a sequence, but for an estimator a turn's last token is
    followed by the next turn's first. Where each trajectory is one sequence, nothing moves.
    `batch` has the same sampled tokens as the given one, one row per trajectory.
    """

    def __init__(self, batch: TokenBatch) -> None:
        self.batch, self._mask = batch, batch.mask
        self._is_split = batch.count < len(batch)
        if not self._is_split:
            return
        self._sampled = batch.mask.nonzero(as_tuple=True)
        rows = batch.trajectories[self._sampled[0]]
        lengths = torch.bincount(rows, minlength=batch.count)
        starts = lengths.cumsum(0) - lengths
        self._place = rows, torch.arange(len(rows)) - starts[rows]
        self._shape = batch.count, int(lengths.max())
        mask = self.join(batch.mask)
        firsts = batch.rows(torch.searchsorted(batch.trajectories, torch.arange(batch.count)))
        self.batch = replace(
            firsts,
            ids=self.join(batch.ids),
            attention=mask,
            mask=mask,
            turns=self.join(batch.turns),
            log_probs=self.join(batch.log_probs),
            cut=self.join(batch.cut),
        )

    def join(self, column: Tensor) -> Tensor:
        """Return a (sequences, tokens) column as (trajectories, sampled tokens), padded with 0."""
        if not self._is_split:
            return column
        joined = column.new_zeros(self._shape)
        joined[self._place] = column[self._sampled]
        return joined

    def split(self, column: Tensor) -> Tensor:
        """Return the inverse of `join`, 0 on tokens that were not sampled."""
        if not self._is_split:
            return column
        sequences = column.new_zeros(self._mask.shape)
        sequences[self._sampled] = column[self._place]
        return sequences
