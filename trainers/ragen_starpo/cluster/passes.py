"""Forward and backward passes of verl's engines, which do not wait for the device.

verl 0.9.1 waits several times a row: for lengths, masks, slices and metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor
from verl.utils.device import get_device_name
from verl.utils.metric import AggregationType, Metric

from ragen_envs.core.sums import sum_in_order
from ragen_starpo.cluster.names import MEAN, TOKENS
from ragen_starpo.cluster.rows import COLUMN
from ragen_starpo.engine.attention import padded_inputs
from ragen_starpo.engine.worker import Contribution

QUEUED_INPUTS = (
    "input_ids",
    "position_ids",
    "prompts",
    "responses",
    "response_mask",
    "loss_mask",
)
"""Fields of a row in verl's queue that engines read; all others are columns."""


@dataclass(frozen=True)
class ModelRows:
    """The rows of a micro-batch as a model reads them, and the places of their sampled tokens.

    Attributes:
        inputs: The model's inputs: rows with padding, or all packed into one.
        places: Positions in the flattened inputs that sampled tokens follow, (sampled,).
        labels: The sampled tokens, (sampled,).
        offsets: First token of each row among all rows without padding, and their end.
        in_rows: The same positions as `places`, among all rows without padding.
        in_columns: Positions of the sampled tokens in a flattened column.
        columns: Columns of the rows without fillers, with `mask`.
    """

    inputs: Mapping[str, Tensor]
    places: Tensor
    labels: Tensor
    offsets: Tensor
    in_rows: Tensor
    in_columns: Tensor
    columns: Mapping[str, Tensor]

    def to(self, device: str) -> ModelRows:
        """Return a copy on a device, which the host does not wait for."""

        def send(tensor: Tensor) -> Tensor:
            # A copy from memory that is not pinned waits for all that the device still computes.
            return tensor if device == "cpu" else tensor.pin_memory().to(device, non_blocking=True)

        return ModelRows(
            {name: send(tensor) for name, tensor in self.inputs.items()},
            send(self.places),
            send(self.labels),
            send(self.offsets),
            send(self.in_rows),
            send(self.in_columns),
            {name: send(tensor) for name, tensor in self.columns.items()},
        )

    def spread_on_columns(self, values: Tensor) -> Tensor:
        """Return (sampled,) values in the shape of `mask`, 0 elsewhere."""
        mask = self.columns["mask"]
        flat = values.new_zeros(mask.numel()).index_put((self.in_columns,), values)
        return flat.view(mask.shape)

    def spread_on_rows(self, values: Tensor, tokens: int) -> Tensor:
        """Return (sampled,) values as verl's jagged output over all `tokens`, 0 elsewhere."""
        flat = values.new_zeros(tokens).index_put((self.in_rows,), values)
        return torch.nested.nested_tensor_from_jagged(flat, self.offsets)


class Passes:
    """The passes of an engine over its micro-batches.

    Attributes:
        outputs: Names of what the model is asked for.
    """

    outputs: ClassVar[tuple[str, ...]]

    model_config: Any

    def score(self, rows: ModelRows, temperature: float) -> tuple[Tensor, ...]:
        """Return each of `outputs` for the sampled tokens, (sampled,)."""
        raise NotImplementedError

    def forward_step(
        self,
        micro_batch: TensorDict,
        loss_function: Callable[..., Contribution] | None,
        forward_only: bool,  # noqa: ARG002 - verl's name
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss of a micro-batch with its metrics, or outputs if there is no loss.

        The loss takes outputs and columns of the same rows, (rows, tokens). It is multiplied by
        the number of ranks, since FSDP averages their gradients.
        """
        rows = read_model_rows(micro_batch, packed=self.model_config.use_remove_padding)
        count, sampled = micro_batch["input_ids"].values().numel(), int(rows.columns["mask"].sum())
        device, dtype = get_device_name(), self._autocast_dtype  # type: ignore[attr-defined]
        rows = rows.to(device)
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            scores = self.score(rows, micro_batch["temperature"])
        if loss_function is None:
            spread = (rows.spread_on_rows(one, count) for one in scores)
            outputs = dict(zip(self.outputs, spread, strict=True))
            return torch.ones(()), {"model_output": outputs, "loss": 1.0, "metrics": {}}
        loss, means = loss_function(*map(rows.spread_on_columns, scores), rows.columns)
        loss = loss * self.get_data_parallel_size()  # type: ignore[attr-defined]
        metrics = {
            name: mean.detach() if isinstance(mean, Tensor) else loss.new_full((), mean)
            for name, mean in means.items()
        }
        return loss, {
            "model_output": {},
            "loss": loss.detach(),
            "metrics": {TOKENS: sampled, **metrics},
        }

    def forward_backward_batch(self, *given: Any, **named: Any) -> dict[str, Any]:
        """Compute all micro-batches, then read all their losses and metrics at once.

        Metrics become sums over sampled tokens, see `ragen_starpo.cluster.names`.
        """
        outputs: dict[str, Any] = super().forward_backward_batch(*given, **named)  # type: ignore[misc]
        columns = outputs["metrics"]
        if not columns:
            return outputs
        sizes = columns.pop(TOKENS)
        read = torch.stack([torch.stack(one) for one in (outputs["loss"], *columns.values())])
        outputs["loss"], *means = read.tolist()
        sums: dict[str, float] = {TOKENS: sum(sizes)}
        for name, of_parts in zip(columns, means, strict=True):
            parts = zip(sizes, of_parts, strict=True)
            sums[MEAN + name] = sum_in_order(size * mean for size, mean in parts)
        outputs["metrics"] = {
            name: Metric(AggregationType.SUM, total) for name, total in sums.items()
        }
        return outputs


def read_model_rows(micro_batch: TensorDict, *, packed: bool) -> ModelRows:
    """Return the rows of a micro-batch of `to_verl` or of verl's queue.

    Their `loss_mask` is 1 on sampled tokens. In the queue it begins after the prompts. All places
    are found here, on the CPU, since looking for them on a GPU would wait for it.
    """
    ids, mask = micro_batch["input_ids"], _pad(micro_batch["loss_mask"])
    rows, tokens = mask.nonzero(as_tuple=True)
    positions = tokens
    if "prompts" in micro_batch.keys():  # noqa: SIM118 - iterating a TensorDict gives its rows
        prompts = micro_batch["prompts"]
        positions = tokens + (
            prompts.offsets().diff()[rows] if prompts.is_nested else prompts.shape[1]
        )
    # Nothing predicts a row's first token.
    has_place = positions > 0
    rows, tokens, positions = (one[has_place] for one in (rows, tokens, positions))
    in_rows = ids.offsets()[rows] + positions - 1
    if packed:
        places = in_rows
        inputs = {
            "input_ids": ids.values()[None],
            "position_ids": micro_batch["position_ids"].values()[None],
        }
    else:
        inputs = padded_inputs(_pad(ids))
        places = rows * inputs["input_ids"].shape[1] + positions - 1
    return ModelRows(
        inputs,
        places,
        labels=ids.values()[in_rows + 1],
        offsets=ids.offsets(),
        in_rows=in_rows,
        in_columns=rows * mask.shape[1] + tokens,
        columns=_read_columns(micro_batch),
    )


def _read_columns(micro_batch: TensorDict) -> dict[str, Tensor]:
    """Return the columns of a micro-batch's rows, with `mask`, padded.

    The fillers of `to_verl`, which are its last rows, have none.
    """
    names = list(map(str, micro_batch.keys()))
    if "real" in names:
        real = int(micro_batch["real"].sum())
        return {
            name.removeprefix(COLUMN): micro_batch[name][:real]
            for name in names
            if name.startswith(COLUMN)
        }
    columns = {
        name: _pad(micro_batch[name])
        for name in names
        if name not in QUEUED_INPUTS and isinstance(micro_batch[name], Tensor)
    }
    return {"mask": _pad(micro_batch["loss_mask"]), **columns}


def _pad(rows: Tensor) -> Tensor:
    return rows.to_padded_tensor(0) if rows.is_nested else rows
