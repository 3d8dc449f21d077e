"""Policy, critic and reference, on token batches and plain tensors.

Tensors of tokens are (sequences, tokens), aligned as in `TokenBatch`: position t is about token t,
given the tokens before it. Inputs and results are on the CPU; a loss function gets its rows on the
model's device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import torch
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_envs.core.folders import replacing_folder
from ragen_starpo.engine.computing import PLAIN, Computing
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from ragen_starpo.rollout.trajectory import TokenBatch

if TYPE_CHECKING:
    from ragen_starpo.engine.adapters import Kind
    from ragen_starpo.engine.backend import Backend
    from ragen_starpo.engine.micro_batches import MicroBatch

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


class _Model:
    """A model in a backend, which divides batches into micro-batches."""

    def __init__(self, backend: Backend, micro_batch_size: int, computing: Computing) -> None:
        if micro_batch_size < 1:
            raise UserError(f"micro_batch_size must be at least 1, got {micro_batch_size}")
        self._backend = backend
        self._micro_batch_size = micro_batch_size
        self._computing = computing

    def _outputs(self, batch: TokenBatch, temperature: float) -> list[Tensor]:
        """Return each output as (sequences, tokens), 0 except on sampled tokens."""
        parts = self._divide(batch, {})
        outputs = self._backend.outputs(parts, temperature)
        whole = [torch.zeros(batch.mask.shape) for _ in outputs[0]]
        for part, found in zip(parts, outputs, strict=True):
            for column, output in zip(whole, found, strict=True):
                column[part.rows, : output.shape[1]] = output.cpu()
        return whole

    def _step(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: Callable[..., Contribution],
        temperature: float,
    ) -> dict[str, float]:
        parts = self._divide(batch, columns)
        sums: dict[str, Tensor] = {}

        def loss_of_part(outputs: Sequence[Tensor], part: MicroBatch) -> Tensor:
            loss, means = loss_fn(*outputs, part.columns)
            for name, mean in means.items():
                # On the model's device, so that nothing waits for it.
                total = torch.as_tensor(mean).detach() * len(part.labels)
                sums[name] = sums[name] + total if name in sums else total
            return loss

        metrics = self._backend.step(parts, loss_of_part, temperature)
        tokens = sum(len(part.labels) for part in parts)
        return {**{name: float(total) / tokens for name, total in sums.items()}, **metrics}

    def _divide(self, batch: TokenBatch, columns: Mapping[str, Tensor]) -> list[MicroBatch]:
        from ragen_starpo.engine.micro_batches import make_micro_batches

        return make_micro_batches(
            batch, columns, self._micro_batch_size, self._computing.tokens, self._backend.device
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

        It also sets the global random states of torch, NumPy and Python. UserError if it is
        missing, or of another model.
        """
        self._backend.load_checkpoint(folder)


class _LanguageModel(_Model):
    def log_probs(self, batch: TokenBatch, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of the sampled tokens, and entropies in nats; 0 elsewhere.

        Both belong to the distribution, at this temperature, that each token was sampled from.
        """
        log_probs, entropies = self._outputs(batch, temperature)
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

    A mini-batch of any size is divided into micro-batches of at most `micro_batch_size`
    sequences of similar length. The seed is that of new adapters. UserError if the folder has
    no model.
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
        return self._step(batch, columns, loss_fn, temperature)

    def gradient_norm(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        temperature: float = 1.0,
    ) -> float:
        """Return the norm of the gradient that `update` would follow, without taking a step."""

        def loss_of_part(outputs: Sequence[Tensor], part: MicroBatch) -> Tensor:
            return loss_fn(outputs[0], outputs[1], part.columns)[0]

        return self._backend.gradient_norm(self._divide(batch, columns), loss_of_part, temperature)

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
        return self._outputs(batch, 1.0)[0]

    def update(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss_fn: ValueLossFunction
    ) -> dict[str, float]:
        """Take one step of the optimiser on all these sequences, see `Policy.update`."""
        return self._step(batch, columns, loss_fn, 1.0)


def _make_backend(
    kind: Kind,
    model_dir: Path,
    optimiser: OptimiserSettings | None,
    lora: LoraSettings | None,
    seed: int = 0,
    computing: Computing = PLAIN,
) -> Backend:
    """Import transformers, which takes seconds, and load the model."""
    from ragen_starpo.engine.backend import Backend
    from ragen_starpo.engine.folders import check_folder

    check_folder(Path(model_dir))

    return Backend(kind, Path(model_dir), optimiser, lora, seed, computing)
