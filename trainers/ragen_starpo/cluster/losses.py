"""The losses as verl calls them: ours, on its rows."""

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
"""Sampled tokens, by which sums of means are divided: so ranks and micro-batches do not matter."""
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
    """Return what a micro-batch adds to the policy's loss, and its figures.

    Args:
        settings: the loss.
        model_output: of verl's engine.
        data: rows of verl with the columns of `algorithms.objective`, on response tokens.
        dp_group: verl's group of the ranks; the sum over them is formed by verl.
    """
    columns = _columns(data, [*POLICY_COLUMNS, *([REFERENCE] if settings.kl else [])])
    mask = columns["mask"]
    log_probs = _aligned(model_output["log_probs"], data, mask)
    entropies = _aligned(model_output["entropy"], data, mask)
    return _summed(policy_contribution(settings, log_probs, entropies, columns), data, mask)


def critic_loss(
    settings: LossSettings,
    *,
    model_output: Mapping[str, Tensor],
    data: TensorDict,
    dp_group: Any,  # noqa: ARG001 - verl's name
) -> tuple[Tensor, dict[str, Metric]]:
    """Return what a micro-batch adds to the critic's loss, and its figures; see `policy_loss`."""
    columns = _columns(data, CRITIC_COLUMNS)
    values = _aligned(model_output["values"], data, columns["mask"])
    return _summed(value_contribution(settings, values, columns), data, columns["mask"])


def means(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a mini-batch from those that verl put together.

    They are what `ragen_starpo.engine.worker.Policy.update` tells, but for the learning rate.
    """
    tokens = _one(metrics[TOKENS])
    return {
        name.removeprefix(_MEAN): _one(value) / tokens
        for name, value in metrics.items()
        if name.startswith(_MEAN)
    } | {name: _one(metrics[name]) for name in ("loss", "grad_norm")}


def _columns(data: TensorDict, names: Sequence[str]) -> dict[str, Tensor]:
    padded = data.select("response_mask", *names).to_padded_tensor()
    return {"mask": padded["response_mask"], **{name: padded[name] for name in names}}


def _aligned(output: Tensor, data: TensorDict, mask: Tensor) -> Tensor:
    """Return what the engine says of response tokens, 0 but on sampled ones."""
    aligned: Tensor = no_padding_2_padding(output, data)
    return aligned.where(mask.bool(), 0.0)


def _summed(
    contribution: Contribution, data: TensorDict, mask: Tensor
) -> tuple[Tensor, dict[str, Metric]]:
    """Return the loss so that the ranks' gradients, of which FSDP takes the mean, add up."""
    loss, figures = contribution
    tokens = float(mask.sum())
    metrics = {f"{_MEAN}{name}": _sum(float(value) * tokens) for name, value in figures.items()}
    return loss * data["dp_size"], {TOKENS: _sum(tokens), **metrics}


def _sum(value: float) -> Metric:
    return Metric(AggregationType.SUM, value)


def _one(value: Any) -> float:
    """Return a figure of a call for one mini-batch, which verl has in a list."""
    (figure,) = value if isinstance(value, list) else [value]
    return float(figure)
