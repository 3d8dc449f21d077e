"""Policy, critic and reference, on token batches and plain tensors.

Tensors of tokens are (sequences, tokens), aligned as in `TokenBatch`: position t is about token t,
given the tokens before it. Inputs and results are on the CPU; a loss function gets its rows on the
model's device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import torch
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import replacing_folder
from ragen_starpo.engine.computing import PLAIN, Computing
from ragen_starpo.recipes.sections import LoraSettings, OptimiserSettings
from ragen_starpo.rollout.trajectory import TokenBatch

if TYPE_CHECKING:
    from tensordict import TensorDict

    from ragen_starpo.engine.backend import Backend, Kind

Contribution: TypeAlias = tuple[Tensor, Mapping[str, Tensor | float]]
"""Contribution of some rows to their mini-batch's loss, and means over their sampled tokens.

Contributions of micro-batches are summed; means are averaged, weighted by sampled tokens. Neither
depends on the division into micro-batches if a loss's denominators are those of the mini-batch:
pass the weights of `ragen_starpo.algorithms.aggregation` as a column.
"""
PolicyLossFunction: TypeAlias = Callable[[Tensor, Tensor, Mapping[str, Tensor]], Contribution]
"""Takes log-probabilities, entropies and columns of the same rows, including `mask`."""
ValueLossFunction: TypeAlias = Callable[[Tensor, Mapping[str, Tensor]], Contribution]
"""Takes values and columns of the same rows, including `mask`."""
_POLICY_OUTPUTS = ("log_probs", "entropy")
"""Names of a policy's outputs in verl's engine."""


class _Model:
    """A model in a backend, which divides batches into micro-batches."""

    def __init__(self, backend: Backend, micro_batch_size: int, computing: Computing) -> None:
        if micro_batch_size < 1:
            raise UserError(f"micro_batch_size must be at least 1, got {micro_batch_size}")
        self._backend = backend
        self._micro_batch_size = micro_batch_size
        self._computing = computing

    def _outputs(self, batch: TokenBatch, names: Sequence[str], temperature: float) -> list[Tensor]:
        from ragen_starpo.engine import rows

        data = self._to_verl(batch, {}, temperature)
        outputs = self._backend.outputs(data)
        sorted_rows = rows.read_rows(data)
        inverse = torch.argsort(rows.sort_by_length(batch))
        return [sorted_rows.align(outputs[name])[inverse] for name in names]

    def _step(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        names: Sequence[str],
        loss_fn: Callable[..., Contribution],
        temperature: float,
    ) -> dict[str, float]:
        sums: dict[str, float] = {}
        tokens = 0

        def loss_with_sums(*inputs: Any) -> Contribution:
            nonlocal tokens
            loss, means = loss_fn(*inputs)
            count = int(inputs[-1]["mask"].sum())
            tokens += count
            for name, mean in means.items():
                value = mean.item() if isinstance(mean, Tensor) else mean
                sums[name] = sums.get(name, 0.0) + value * count
            return loss, means

        data = self._to_verl(batch, columns, temperature)
        metrics = self._backend.step(data, loss_on_rows(loss_with_sums, names))
        return {**{name: total / tokens for name, total in sums.items()}, **metrics}

    def _to_verl(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], temperature: float
    ) -> TensorDict:
        """Return the batch as verl's rows, shortest first."""
        from ragen_starpo.engine import rows

        rows.check_batch(batch, columns)
        order = rows.sort_by_length(batch)
        sorted_columns = {name: column[order] for name, column in columns.items()}
        return rows.to_verl(
            batch.rows(order), sorted_columns, self._micro_batch_size, temperature, self._computing
        )


class _TrainedModel(_Model):
    """A model with an optimiser."""

    _kind: ClassVar[Kind]

    def __init__(
        self,
        model_dir: Path,
        optimiser: OptimiserSettings,
        micro_batch_size: int,
        lora: LoraSettings | None = None,
        *,
        seed: int = 0,
        computing: Computing = PLAIN,
    ) -> None:
        backend = _make_backend(self._kind, model_dir, optimiser, lora, seed, computing)
        super().__init__(backend, micro_batch_size, computing)
        self._model_dir = Path(model_dir)

    def save_checkpoint(self, folder: Path) -> None:
        """Write weights, optimiser, schedule and random states; a folder is replaced at the end."""
        self._backend.save_checkpoint(folder)

    def load_checkpoint(self, folder: Path) -> None:
        """Restore a checkpoint; on a CPU, training then continues bit for bit.

        The checkpoint is unpickled: load only files that you wrote yourself. It also sets
        the global random states of torch, NumPy and Python. UserError if it is missing, or
        of another model.
        """
        self._backend.load_checkpoint(folder)


class _LanguageModel(_Model):
    def log_probs(self, batch: TokenBatch, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of the sampled tokens, and entropies in nats; 0 elsewhere.

        Both belong to the distribution, at this temperature, that each token was sampled from.
        """
        log_probs, entropies = self._outputs(batch, _POLICY_OUTPUTS, temperature)
        return log_probs, entropies


class Reference(_LanguageModel):
    """A frozen language model, for the KL term; see `Policy` for the arguments."""

    def __init__(
        self, model_dir: Path, micro_batch_size: int, computing: Computing = PLAIN
    ) -> None:
        backend = _make_backend("language_model", model_dir, None, None, computing=computing)
        super().__init__(backend, micro_batch_size, computing)


class Policy(_LanguageModel, _TrainedModel):
    """A language model that is trained, in float32.

    A mini-batch of any size is divided into the fewest equal micro-batches of at most
    `micro_batch_size` sequences; one-token fillers, which the loss function never sees,
    complete the last one. The seed is that of new adapters. UserError if the folder has no
    model.
    """

    _kind = "language_model"

    def update(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        temperature: float = 1.0,
    ) -> dict[str, float]:
        """Take one step of the optimiser on all these sequences.

        For supervised training, `loss_fn` returns minus the weighted sum of
        log-probabilities. Columns have one entry per row of the batch. Returns the means of
        `loss_fn`; `loss`; `lr`, the learning rate of this step; and `grad_norm` before
        clipping. If `grad_norm` is not finite, no step was taken.
        """
        return self._step(batch, columns, _POLICY_OUTPUTS, loss_fn, temperature)

    def gradient_norm(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        temperature: float = 1.0,
    ) -> float:
        """Return the norm of the gradient that `update` would follow, without taking a step."""
        data = self._to_verl(batch, columns, temperature)
        return self._backend.gradient_norm(data, loss_on_rows(loss_fn))

    def state_for_rollout(self) -> dict[str, Tensor]:
        """Return copies of all weights for `load_state_dict`, adapters merged."""
        return self._backend.state()

    def save(self, folder: Path) -> None:
        """Write a folder that transformers reads, in float32 with adapters merged.

        Tokenizer, chat template and generation settings are copied from the initial model. An
        existing folder is replaced when the new one is complete.
        """
        from ragen_starpo.engine.folders import write_model

        with replacing_folder(Path(folder)) as draft:
            write_model(draft, self._backend.state(), self._backend.module.config, self._model_dir)


class Critic(_TrainedModel):
    """A language model's backbone with a new head that predicts the value before each token.

    See `Policy` for the arguments. The folder's output layer is not used; with adapters, the head
    is trained in full.
    """

    _kind = "value_model"

    def values(self, batch: TokenBatch) -> Tensor:
        """Return the value before each sampled token, 0 elsewhere."""
        return self._outputs(batch, ["values"], 1.0)[0]

    def update(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss_fn: ValueLossFunction
    ) -> dict[str, float]:
        """Take one step of the optimiser on all these sequences, see `Policy.update`."""
        return self._step(batch, columns, ["values"], loss_fn, 1.0)


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
    from ragen_starpo.engine import rows

    def loss(
        model_output: Mapping[str, Tensor],
        data: TensorDict,
        dp_group: object,  # noqa: ARG001 - verl's name
    ) -> tuple[Tensor, dict[str, float]]:
        micro_batch = rows.read_rows(data)
        outputs = [micro_batch.align(model_output[name]) for name in names]
        return loss_fn(*outputs, micro_batch.columns)[0] * processes, {}

    return loss


def _make_backend(
    kind: Kind,
    model_dir: Path,
    optimiser: OptimiserSettings | None,
    lora: LoraSettings | None,
    seed: int = 0,
    computing: Computing = PLAIN,
) -> Backend:
    """Import verl, which takes seconds, and load the model."""
    from ragen_starpo.engine.folders import check_folder
    from ragen_starpo.engine.platform import prepare

    check_folder(Path(model_dir))
    prepare()
    from ragen_starpo.engine.backend import Backend

    return Backend(kind, Path(model_dir), optimiser, lora, seed, computing)
