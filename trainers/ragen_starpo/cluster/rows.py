"""Converts token batches to verl's unpadded rows, and outputs back.

verl's output at position t is about token t + 1; here, position t is about token t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import torch
from tensordict import NonTensorData, TensorDict
from torch import Tensor
from torch.nn import functional

from ragen_starpo.engine.computing import PLAIN, Computing
from ragen_starpo.engine.worker import Contribution
from ragen_starpo.rollout.trajectory import TokenBatch

_COLUMN = "column:"
_POLICY_OUTPUTS = ("log_probs", "entropy")
"""Names of a policy's outputs in verl's engine."""


@dataclass(frozen=True)
class Rows:
    """The rows of a micro-batch without fillers, where `real`, (rows of verl,), is False.

    `mask` is (rows, tokens), 1 on sampled tokens; `columns` have one entry per row, and include
    it.
    """

    real: Tensor
    mask: Tensor
    columns: Mapping[str, Tensor]

    def align(self, output: Tensor) -> Tensor:
        """Return verl's jagged output as (rows, tokens), 0 except on sampled tokens."""
        return align_output(output, self.mask.shape[1])[self.real].where(self.mask.bool(), 0.0)


def micro_batches(rows: int, largest: int) -> tuple[int, int]:
    """Return the size of micro-batches, and the number of fillers in the last one.

    verl requires equal sizes. The number of micro-batches is minimal, then their size, so there
    are fewer fillers than micro-batches.
    """
    count = ceil(rows / largest)
    size = ceil(rows / count)
    return size, count * size - rows


@dataclass(frozen=True)
class Limit:
    """The limit of a micro-batch: tokens of packed rows or, if that is None, rows."""

    rows: int
    tokens: int | None = None

    def division(self, size: int) -> dict[str, bool | int]:
        """Return verl's settings of micro-batches.

        With a token limit, verl groups rows by length into the fewest micro-batches of
        about equal work. Otherwise each has `size` rows.
        """
        if self.tokens is None:
            return {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": size}
        return {"use_dynamic_bsz": True, "max_token_len_per_gpu": self.tokens}


def limit_of(rows: int, computing: Computing, longest: int) -> Limit:
    """Return the limit of micro-batches that keeps memory within the recipe's settings.

    Padded rows are counted as if all were the longest. The limit of packed rows is never below
    the longest one's tokens, since verl has one limit for all micro-batches.
    """
    if computing.tokens is None:
        return Limit(rows)
    if computing.packing:
        return Limit(rows, max(computing.tokens, longest))
    return Limit(max(1, computing.tokens // longest))


def to_verl(
    batch: TokenBatch,
    columns: Mapping[str, Tensor],
    largest: int,
    temperature: float,
    computing: Computing = PLAIN,
    longest: int = 0,
) -> TensorDict:
    """Return a batch for verl's worker, with micro-batches of at most `largest` rows.

    A filler has one token, which is not sampled. A token limit in `computing` replaces
    `largest`. `longest` has the tokens of the longest row over all processes, which must
    compute equally many micro-batches; 0 for one process.
    """
    lengths = batch.attention.sum(1).clamp(min=1).tolist()
    limit = limit_of(largest, computing, max(longest, *lengths))
    size, extra = micro_batches(len(batch), limit.rows if limit.tokens is None else len(batch))
    lengths += [1] * extra
    ids = functional.pad(batch.ids, (0, 0, 0, extra))
    # verl splits columns with the rows. The values on fillers are never read.
    tensors = {
        _COLUMN + name: torch.cat([column, column.new_zeros((extra, *column.shape[1:]))])
        for name, column in {"mask": batch.mask, **columns}.items()
    }
    return TensorDict(
        {
            "input_ids": _make_jagged([row[:end] for row, end in zip(ids, lengths, strict=True)]),
            "position_ids": _make_jagged([torch.arange(end) for end in lengths]),
            "loss_mask": tensors[_COLUMN + "mask"],
            "real": torch.arange(len(ids)) < len(batch),
            **tensors,
            "temperature": NonTensorData(temperature),
            "calculate_entropy": NonTensorData(True),
            **{name: NonTensorData(value) for name, value in limit.division(size).items()},
        },
        batch_size=[len(ids)],
    )


def read_rows(micro_batch: TensorDict) -> Rows:
    """Return the rows of one of verl's micro-batches, on its device."""
    real = micro_batch["real"]
    columns = {
        name.removeprefix(_COLUMN): micro_batch[name][real]
        for name in map(str, micro_batch.keys())
        if name.startswith(_COLUMN)
    }
    return Rows(real, columns["mask"], columns)


def loss_on_rows(
    loss_fn: Callable[..., Contribution],
    names: Sequence[str] = _POLICY_OUTPUTS,
    processes: int = 1,
) -> Callable[..., tuple[Tensor, dict[str, float]]]:
    """Return a loss function with verl's signature, on rows from `to_verl`; it has no metrics.

    `loss_fn` takes the outputs in `names` and the columns of the same rows. verl averages the
    gradients of training processes, while contributions add up, so the loss is multiplied by
    their number.
    """

    def loss(
        model_output: Mapping[str, Tensor],
        data: TensorDict,
        dp_group: object,  # noqa: ARG001 - verl's name
    ) -> tuple[Tensor, dict[str, float]]:
        micro_batch = read_rows(data)
        outputs = [micro_batch.align(model_output[name]) for name in names]
        return loss_fn(*outputs, micro_batch.columns)[0] * processes, {}

    return loss


def align_output(output: Tensor, width: int) -> Tensor:
    """Return verl's jagged output as (rows, width), where position t is about token t.

    verl's output at a row's last token is about a token that does not exist; it lands on padding or
    is cut off.
    """
    lengths = output.offsets().diff()  # type: ignore[attr-defined]
    inside = torch.arange(width, device=lengths.device) < lengths[:, None]
    values = output.values()
    padded = values.new_zeros(inside.shape).masked_scatter(inside, values)
    return functional.pad(padded[:, :-1], (1, 0))


def places_to_score(micro_batch: TensorDict, inputs: Tensor) -> Tensor:
    """Return the flat positions in a model's inputs that sampled tokens follow.

    Args:
        micro_batch: Rows whose `loss_mask` is 1 on sampled tokens. With `prompts` it begins after
            these, as in verl's queue; else with the row.
        inputs: The rows as the model reads them, padded or as one packed row.
    """
    ids, mask = micro_batch["input_ids"], micro_batch["loss_mask"]
    rows, tokens = (mask.to_padded_tensor(0) if mask.is_nested else mask).nonzero(as_tuple=True)
    if "prompts" in micro_batch.keys():  # noqa: SIM118 - iterating a TensorDict gives its rows
        prompts = micro_batch["prompts"]
        tokens = tokens + (
            prompts.offsets().diff()[rows] if prompts.is_nested else prompts.shape[1]
        )
    starts = ids.offsets()[:-1]
    if len(inputs) == len(starts) > 1:
        starts = torch.arange(len(starts), device=starts.device) * inputs.shape[1]
    # Nothing predicts a row's first token.
    places: Tensor = starts[rows] + tokens - 1
    return places[tokens > 0]


def _make_jagged(rows: list[Tensor]) -> Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)
