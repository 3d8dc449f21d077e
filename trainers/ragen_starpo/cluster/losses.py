"""The policy and critic losses with verl's signature, on its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensordict import TensorDict
from torch import Tensor
from verl.utils.metric import AggregationType, Metric
from verl.workers.utils.padding import no_padding_2_padding

from ragen_starpo.engine.worker import Contribution
from ragen_starpo.objective import policy_contribution, value_contribution
from ragen_starpo.recipes.sections import LossSettings

TOKENS, _MEAN = "tokens", "mean/"
"""Number of sampled tokens, by which the sums of all ranks and micro-batches are divided."""
REFERENCE = "reference"
POLICY_COLUMNS = ("advantages", "old_log_probs", "weights")
CRITIC_COLUMNS = ("old_values", "returns", "weights")


def policy_loss(
    settings: LossSettings,
    *,
    model_output: Mapping[str, Tensor],
    data: TensorDict,
    dp_group: Any,  # noqa: ARG001 - verl's name
) -> tuple[Tensor, dict[str, Metric]]:
    """Return a micro-batch's contribution to the policy loss, and its metrics.

    `data` has the columns of `ragen_starpo.objective` on response tokens.
    """
    columns = _columns(data, [*POLICY_COLUMNS, *([REFERENCE] if settings.kl else [])])
    mask = columns["mask"]
    log_probs = _align(model_output["log_probs"], data, mask)
    entropies = _align(model_output["entropy"], data, mask)
    return _sum_over_ranks(policy_contribution(settings, log_probs, entropies, columns), data, mask)


def critic_loss(
    settings: LossSettings,
    *,
    model_output: Mapping[str, Tensor],
    data: TensorDict,
    dp_group: Any,  # noqa: ARG001 - verl's name
) -> tuple[Tensor, dict[str, Metric]]:
    """Return a micro-batch's contribution to the critic loss, and its metrics."""
    columns = _columns(data, CRITIC_COLUMNS)
    values = _align(model_output["values"], data, columns["mask"])
    return _sum_over_ranks(value_contribution(settings, values, columns), data, columns["mask"])


def compute_means(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return a mini-batch's metrics from verl's sums.

    They equal those of `ragen_starpo.engine.worker.Policy.update`, without the learning rate.
    """
    tokens = _unpack(metrics[TOKENS])
    return {
        name.removeprefix(_MEAN): _unpack(value) / tokens
        for name, value in metrics.items()
        if name.startswith(_MEAN)
    } | {name: _unpack(metrics[name]) for name in ("loss", "grad_norm")}


def _columns(data: TensorDict, names: Sequence[str]) -> dict[str, Tensor]:
    padded = data.select("response_mask", *names).to_padded_tensor()
    return {"mask": padded["response_mask"], **{name: padded[name] for name in names}}


def _align(output: Tensor, data: TensorDict, mask: Tensor) -> Tensor:
    """Return the engine's output on response tokens, 0 except on sampled ones."""
    responses: Tensor = no_padding_2_padding(output, data)
    return responses.where(mask.bool(), 0.0)


def _sum_over_ranks(
    contribution: Contribution, data: TensorDict, mask: Tensor
) -> tuple[Tensor, dict[str, Metric]]:
    """Return the loss times the ranks, since FSDP averages their gradients, and its sums."""
    loss, means = contribution
    tokens = float(mask.sum())
    metrics = {f"{_MEAN}{name}": _sum(float(value) * tokens) for name, value in means.items()}
    return loss * data["dp_size"], {TOKENS: _sum(tokens), **metrics}


def _sum(value: float) -> Metric:
    return Metric(AggregationType.SUM, value)


def _unpack(value: Any) -> float:
    """Return a metric of one mini-batch, which verl may wrap in a list."""
    (metric,) = value if isinstance(value, list) else [value]
    return float(metric)
