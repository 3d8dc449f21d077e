"""The models that are trained, on token batches and plain tensors.

All tensors of tokens are (sequences, tokens), aligned as `TokenBatch` says: position t speaks of
the token t, given those before it. They are given and returned on the CPU; a loss function gets its
rows on the model's device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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
"""What some rows add to the loss of their mini-batch, and means over their sampled tokens.

The contributions of all micro-batches are summed; the means are averaged, weighted by sampled
tokens. So neither depends on how rows are divided, if a loss's denominators are those of the whole
mini-batch: see `ragen_starpo.algorithms.aggregation`, and pass the weights as a column.
"""
PolicyLossFunction: TypeAlias = Callable[[Tensor, Tensor, Mapping[str, Tensor]], Contribution]
"""Of log-probabilities, entropies and columns of the same rows, the column `mask` among them."""
ValueLossFunction: TypeAlias = Callable[[Tensor, Mapping[str, Tensor]], Contribution]
"""Of values and columns of the same rows, the column `mask` among them."""
_OF_POLICIES = ("log_probs", "entropy")
"""What verl's engine says of a policy's tokens."""


class _Model:
    """What every model has: micro-batches, see `Policy`, and a backend."""

    def __init__(self, backend: Backend, micro_batch_size: int, computing: Computing) -> None:
        if micro_batch_size < 1:
            raise UserError(f"micro_batch_size is at least 1, got {micro_batch_size}")
        self._backend = backend
        self._micro_batch_size = micro_batch_size
        self._computing = computing

    def _outputs(self, batch: TokenBatch, names: Sequence[str], temperature: float) -> list[Tensor]:
        from ragen_starpo.engine import rows

        data = self._ordered(batch, {}, temperature)
        outputs = self._backend.outputs(data)
        played = rows.rows_of(data)
        back = torch.argsort(rows.by_length(batch))
        return [played.aligned(outputs[name])[back] for name in names]

    def _step(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        names: Sequence[str],
        loss_fn: Callable[..., Contribution],
        temperature: float,
    ) -> dict[str, float]:
        tally = _Tally()

        def tallied(*given: Any) -> Contribution:
            contribution, means = loss_fn(*given)
            tally.add(means, int(given[-1]["mask"].sum()))
            return contribution, means

        data = self._ordered(batch, columns, temperature)
        taken = self._backend.step(data, loss_on_rows(tallied, names))
        return {**tally.means(), **taken}

    def _ordered(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], temperature: float
    ) -> TensorDict:
        """Return rows of verl, from the shortest on."""
        from ragen_starpo.engine import rows

        rows.check(batch)
        rows.check_columns(batch, columns)
        order = rows.by_length(batch)
        ordered = {name: column[order] for name, column in columns.items()}
        return rows.to_verl(
            batch.rows(order), ordered, self._micro_batch_size, temperature, self._computing
        )


class _Trained(_Model):
    """A model with an optimiser."""

    def save_checkpoint(self, folder: Path) -> None:
        """Write weights, optimiser, learning-rate schedule and random states.

        A folder of that name is replaced when the new one is complete.
        """
        self._backend.save_checkpoint(folder)

    def load_checkpoint(self, folder: Path) -> None:
        """Go on from a checkpoint; on a CPU, training is then equal to the bit.

        It is unpickled, so load only what you wrote yourself. The global random states of torch,
        NumPy and Python are set to those of the checkpoint.

        Raises:
            UserError: if there is none, or of another model.
        """
        self._backend.load_checkpoint(folder)


class _LanguageModel(_Model):
    def log_probs(self, batch: TokenBatch, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of the sampled tokens, and entropies in nats; 0 elsewhere.

        Both are of the distribution that each sampled token was drawn from.

        Args:
            batch: sequences.
            temperature: by which logits are divided.
        """
        log_probs, entropies = self._outputs(batch, _OF_POLICIES, temperature)
        return log_probs, entropies


class Reference(_LanguageModel):
    """A language model that is not trained, as for a divergence from it.

    Args:
        model_dir: a folder that transformers reads.
        micro_batch_size: the most sequences that are computed at once.
        computing: how.

    Raises:
        UserError: if there is no model.
    """

    def __init__(
        self, model_dir: Path, micro_batch_size: int, computing: Computing = PLAIN
    ) -> None:
        backend = _backend("language_model", model_dir, None, None, computing=computing)
        super().__init__(backend, micro_batch_size, computing)


class Policy(_LanguageModel, _Trained):
    """A language model that is trained, in float32.

    Args:
        model_dir: a folder that transformers reads.
        optimiser: of its weights or adapters.
        micro_batch_size: the most sequences that are computed at once. Mini-batches have any
            size: they are divided into as few equal micro-batches as possible, and the last one is
            filled up with rows of one token that the loss function never sees.
        lora: None to train all weights.
        seed: of new adapters.
        computing: how it computes.

    Raises:
        UserError: if there is no model.
    """

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
        backend = _backend("language_model", model_dir, optimiser, lora, seed, computing)
        super().__init__(backend, micro_batch_size, computing)
        self._model_dir = Path(model_dir)

    def update(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        temperature: float = 1.0,
    ) -> dict[str, float]:
        """Take one step of the optimiser on all these sequences.

        For supervised training, `loss_fn` returns minus the weighted sum of log-probabilities.

        Args:
            batch: the mini-batch.
            columns: tensors of as many rows as the batch, as `advantages`.
            loss_fn: see `Contribution`; called once for each micro-batch.
            temperature: that of the rollouts.

        Returns:
            Its means; `loss`; `grad_norm` before clipping, and where that is not finite no step was
            taken; `lr`, the rate of this step.
        """
        return self._step(batch, columns, _OF_POLICIES, loss_fn, temperature)

    def gradient_norm(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        temperature: float = 1.0,
    ) -> float:
        """Return the norm of the gradient that `update` would clip and follow; take no step."""
        data = self._ordered(batch, columns, temperature)
        return self._backend.gradient_norm(data, loss_on_rows(loss_fn))

    def state_for_rollout(self) -> dict[str, Tensor]:
        """Return copies of all weights, adapters merged, by the names of the model itself.

        They are on the model's device.

        `load_state_dict` of a transformers model of the same configuration takes them.
        """
        return self._backend.state()

    def save(self, folder: Path) -> None:
        """Write a folder that transformers reads, in float32, adapters merged.

        Tokenizer, chat template and settings of generation are those of the model that training
        began with. A folder of that name is replaced when the new one is complete.
        """
        from ragen_starpo.engine.folders import write_model

        with replacing_folder(Path(folder)) as draft:
            write_model(draft, self._backend.state(), self._backend.module.config, self._model_dir)


class Critic(_Trained):
    """A language model's backbone with a new head that tells the value before each token.

    Args:
        model_dir: a folder that transformers reads; its output layer is not used.
        optimiser: of its weights, or of its adapters and its head.
        micro_batch_size: the most sequences that are computed at once.
        lora: None to train all weights.
        seed: of the head and of new adapters.
        computing: how it computes.

    Raises:
        UserError: if there is no model.
    """

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
        backend = _backend("value_model", model_dir, optimiser, lora, seed, computing)
        super().__init__(backend, micro_batch_size, computing)

    def values(self, batch: TokenBatch) -> Tensor:
        """Return the value before each sampled token is drawn, 0 elsewhere."""
        return self._outputs(batch, ["values"], 1.0)[0]

    def update(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss_fn: ValueLossFunction
    ) -> dict[str, float]:
        """Take one step of the optimiser on all these sequences, see `Policy.update`."""
        return self._step(batch, columns, ["values"], loss_fn, 1.0)


def loss_on_rows(
    loss_fn: Callable[..., Contribution],
    names: Sequence[str] = _OF_POLICIES,
    processes: int = 1,
) -> Callable[..., Any]:
    """Return a loss as verl calls it, on rows that `to_verl` made; it tells no figures.

    Args:
        loss_fn: of a model's outputs and columns of the same rows.
        names: of the outputs, a policy's by default.
        processes: that train; verl takes the mean of their gradients, and their contributions add.
    """
    from ragen_starpo.engine import rows

    def loss(
        model_output: Any,
        data: Any,
        dp_group: Any,  # noqa: ARG001 - verl's name
    ) -> tuple[Tensor, dict[str, float]]:
        part = rows.rows_of(data)
        outputs = [part.aligned(model_output[name]) for name in names]
        return loss_fn(*outputs, part.columns)[0] * processes, {}

    return loss


class _Tally:
    """Means over sampled tokens, of micro-batches put together."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._tokens = 0

    def add(self, means: Mapping[str, Tensor | float], tokens: int) -> None:
        for name, mean in means.items():
            value = mean.item() if isinstance(mean, Tensor) else mean
            self._sums[name] = self._sums.get(name, 0.0) + value * tokens
        self._tokens += tokens

    def means(self) -> dict[str, float]:
        return {name: total / self._tokens for name, total in self._sums.items()}


def _backend(
    kind: Kind,
    model_dir: Path,
    optimiser: OptimiserSettings | None,
    lora: LoraSettings | None,
    seed: int = 0,
    computing: Computing = PLAIN,
) -> Backend:
    """Import verl, which takes seconds, and make a worker."""
    from ragen_starpo.engine.loading import check_folder
    from ragen_starpo.engine.platform import prepare

    check_folder(Path(model_dir))
    prepare()
    from ragen_starpo.engine.backend import Backend, Blueprint

    return Backend(Blueprint(kind, Path(model_dir), optimiser, lora, seed, computing))
