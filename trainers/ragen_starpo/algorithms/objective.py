"""The objective: advantages and losses as the recipe sets them, the same for every driver."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ragen_starpo.algorithms import advantages as estimators
from ragen_starpo.algorithms.losses import kl_penalty, policy_loss, value_loss
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.rewards import on_last_token, on_turn_ends, turn_ends
from ragen_starpo.algorithms.whole_trajectories import WholeTrajectories
from ragen_starpo.engine.worker import Contribution
from ragen_starpo.recipes.sections import AdvantageSettings, LossSettings
from ragen_starpo.rollout.trajectory import TokenBatch


def advantages_of(
    settings: AdvantageSettings, batch: TokenBatch, values: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return advantages of all sampled tokens, and returns for the critic if there is one.

    What compares returns is computed in 64 bits; the result is of the kind of log-probabilities. A
    trajectory of several sequences has the advantages that the same tokens and values would have in
    one.

    Args:
        settings: the estimator and its discounts.
        batch: all trajectories that are learned from, as `batch_of` makes it.
        values: (sequences, tokens) of the critic; None where the estimator has none.

    Raises:
        ValueError: if a critic's estimator is given no values.
    """
    whole = WholeTrajectories(batch)
    told = None if values is None else whole.joined(values)
    advantages, returns = _estimated(settings, whole.batch, told)
    kind = batch.log_probs.dtype
    return (
        whole.apart(advantages).to(kind),
        None if returns is None else whole.apart(returns).to(kind),
    )


def policy_contribution(
    settings: LossSettings, log_probs: Tensor, entropies: Tensor, columns: Mapping[str, Tensor]
) -> Contribution:
    """Return what some rows add to the policy's loss.

    Args:
        settings: the loss.
        log_probs: of the sampled tokens, with their gradient.
        entropies: of their distributions.
        columns: `mask`, `weights`, `advantages`, `old_log_probs` and, where the divergence counts,
            `reference`.
    """
    mask, weights = columns["mask"], columns["weights"]
    policy = policy_loss(log_probs, columns["old_log_probs"], columns["advantages"], mask, settings)
    total = (policy.losses * weights).sum() - settings.entropy * (entropies * weights).sum()
    means = {
        "clip_fraction": policy.clip_fraction,
        "dual_clip_fraction": policy.dual_clip_fraction,
        "kl_from_rollouts": policy.kl,
        "entropy": masked_mean(entropies.detach(), mask),
    }
    if settings.kl:
        apart = kl_penalty(log_probs, columns["reference"], settings.kl_estimator)
        total = total + settings.kl * (apart * weights).sum()
        means["kl_from_reference"] = masked_mean(apart.detach(), mask)
    return total, means


def value_contribution(
    settings: LossSettings, values: Tensor, columns: Mapping[str, Tensor]
) -> Contribution:
    """Return what some rows add to the critic's loss.

    Args:
        settings: the loss.
        values: with their gradient.
        columns: `mask`, `weights`, `old_values` and `returns`.
    """
    losses, held = value_loss(
        values, columns["old_values"], columns["returns"], columns["mask"], settings.value_clip
    )
    errors = (columns["returns"] - values.detach()).square()
    return (losses * columns["weights"]).sum(), {
        "squared_error": masked_mean(errors, columns["mask"]),
        "value_clip_fraction": held,
    }


def _estimated(
    settings: AdvantageSettings, batch: TokenBatch, values: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    name, mask = settings.estimator, batch.mask
    if name in ("grpo", "dr-grpo"):
        return estimators.grpo(batch.scores, batch.groups, mask, name == "grpo"), None
    if name == "rloo":
        return estimators.rloo(batch.scores, batch.groups, mask), None
    rewards = (
        on_turn_ends(batch.turn_rewards, batch.turns, mask)
        if settings.credit == "turn"
        else on_last_token(batch.scores, mask)
    )
    if name == "reinforce-plus-plus":
        return estimators.reinforce_plus_plus(rewards, mask, settings.gamma)[0], None
    if values is None:
        raise ValueError(f"{name} needs the values of a critic")
    if name == "gae":
        return estimators.token_gae(rewards, values, mask, settings.gamma, settings.lam)
    ends = turn_ends(batch.turns, mask)
    return estimators.bi_level_gae(
        rewards,
        values,
        mask,
        ends,
        gamma_turn=settings.gamma_turn,
        gamma=settings.gamma,
        lam=settings.lam,
    )
