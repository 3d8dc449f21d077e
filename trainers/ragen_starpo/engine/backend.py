"""Runs one of verl's TrainingWorkers in this process.

Call `ragen_starpo.engine.platform.prepare` before importing this module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.optim import AdamW
from transformers import PreTrainedModel
from verl.trainer.config import CheckpointConfig
from verl.utils import tensordict_utils
from verl.workers.config import (
    FSDPEngineConfig,
    FSDPOptimizerConfig,
    HFModelConfig,
    TrainingWorkerConfig,
)
from verl.workers.engine_workers import TrainingWorker

from ragen_bench.errors import UserError, described
from ragen_bench.runs.atomic import replacing_folder
from ragen_starpo.engine import engines
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.platform import ONE_PROCESS, environment
from ragen_starpo.engine.quiet import libraries_quiet, prints_logged
from ragen_starpo.recipes.sections import LoraSettings, OptimiserSettings

Kind = Literal["language_model", "value_model"]
_CHECKPOINT = "model_world_size_1_rank_0.pt"
"""File that every one-process checkpoint of verl contains."""


class Backend:
    """A model with its optimiser; UserError if the model cannot be loaded.

    One process has nothing to shard. FSDP2 is used because, unlike verl's other engines, it
    keeps the names and shapes of parameters, which LoRA, checkpoints and saving rely on.
    """

    def __init__(
        self,
        kind: Kind,
        model_dir: Path,
        optimiser: OptimiserSettings | None,
        lora: LoraSettings | None,
        seed: int,
        computing: Computing,
    ) -> None:
        try:
            with environment(ONE_PROCESS), libraries_quiet(), prints_logged():
                config = _make_config(kind, model_dir, optimiser, lora, seed, computing)
                self.worker: Any = TrainingWorker(config)
                self.worker.reset()
        except (OSError, ValueError, AssertionError) as error:
            raise UserError(
                f"no model can be loaded from {str(model_dir)!r}: {described(error)}"
            ) from error

    @property
    def module(self) -> PreTrainedModel:
        """The model, whose weights are DTensors."""
        module: PreTrainedModel = self.worker.engine.module
        return module

    @property
    def device(self) -> torch.device:
        """Device of the model."""
        return next(self.module.parameters()).device

    def outputs(self, data: TensorDict) -> TensorDict:
        """Return the model's outputs, see `compute_outputs`."""
        with libraries_quiet():
            return compute_outputs(self.worker, data)

    def step(self, data: TensorDict, loss: Callable[..., object]) -> dict[str, float]:
        """Take one step of the optimiser and of its schedule.

        The loss has verl's signature and is called for each micro-batch. Returns `loss`,
        `grad_norm` before clipping, and `lr`, the learning rate of this step.
        """
        rate = float(self.worker.engine.optimizer.param_groups[0]["lr"])
        tensordict_utils.assign_non_tensor(data, update_lr_scheduler=True)
        self.worker.set_loss_fn(loss)
        with libraries_quiet():
            output = self.worker.train_batch(data)
        metrics = tensordict_utils.get(output, "metrics")
        return {
            "loss": float(metrics["loss"]),
            "grad_norm": float(metrics["grad_norm"]),
            "lr": rate,
        }

    def gradient_norm(self, data: TensorDict, loss: Callable[..., object]) -> float:
        """Return the norm of a loss's gradient, see `compute_gradient_norm`."""
        with libraries_quiet():
            return compute_gradient_norm(self.worker, data, loss)

    def state(self) -> dict[str, Tensor]:
        """Return copies of the weights by the model's own names, adapters merged into them."""
        return dict(engines.merged_weights(self.module))

    def save_checkpoint(self, folder: Path) -> None:
        """Write weights, optimiser, schedule and random states, atomically."""
        with replacing_folder(folder) as draft, prints_logged(), libraries_quiet():
            self.worker.save_checkpoint(str(draft))

    def load_checkpoint(self, folder: Path) -> None:
        """Restore a checkpoint and the global random states; see `Policy.load_checkpoint`."""
        if not (folder / _CHECKPOINT).is_file():
            raise UserError(f"no checkpoint in {str(folder)!r}: it has no {_CHECKPOINT}")
        try:
            with prints_logged(), libraries_quiet():
                self.worker.load_checkpoint(str(folder))
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise UserError(
                f"the checkpoint in {str(folder)!r} is not of this model and these settings: "
                f"{described(error)}"
            ) from error


def compute_outputs(worker: Any, data: TensorDict) -> TensorDict:
    """Return jagged outputs of a verl `TrainingWorker`, without gradient."""
    tensordict_utils.assign_non_tensor(data, compute_loss=False)
    return worker.infer_batch(data)


def compute_gradient_norm(worker: Any, data: TensorDict, loss: Callable[..., object]) -> float:
    """Return the norm of a loss's gradient without taking a step.

    Weights, optimiser, schedule and torch's random states, which dropout uses, do not change.
    The worker has an engine of `ragen_starpo.engine.engines`.
    """
    previous, worker.loss_fn, worker.engine.skips_step = worker.loss_fn, loss, True
    try:
        with engines.isolate_rng():
            output = worker.train_batch(data)
    finally:
        worker.loss_fn, worker.engine.skips_step = previous, False
    return float(tensordict_utils.get(output, "metrics")["grad_norm"])


class ShardAdamW(AdamW):
    """AdamW on the local shard of each weight.

    Its arithmetic is elementwise, so on a CPU the result equals AdamW's to the bit. Operations on
    DTensors take some 40 microseconds each, and a small model's step has hundreds.
    """

    def _init_group(self, group: dict[str, Any], *lists: list[Tensor]) -> bool:
        """Fill the lists of weights, gradients and moments that a step changes."""
        has_complex: bool = super()._init_group(group, *lists)  # type: ignore[no-untyped-call]
        for tensors in lists:
            tensors[:] = [t.to_local() if isinstance(t, DTensor) else t for t in tensors]
        return has_complex


def _make_config(
    kind: Kind,
    model_dir: Path,
    optimiser: OptimiserSettings | None,
    lora: LoraSettings | None,
    seed: int,
    computing: Computing,
) -> TrainingWorkerConfig:
    """Return a worker's configuration; the seed is that of adapters and the value head."""
    settings: dict[str, Any] = {}
    if lora is not None:
        names = lora.target_modules
        settings = {
            "lora_rank": lora.rank,
            "lora_alpha": lora.alpha,
            "target_modules": names if isinstance(names, str) else list(names),
        }
    model = HFModelConfig(
        path=str(model_dir),
        load_tokenizer=False,
        override_config={"attn_implementation": computing.attention},
        use_remove_padding=computing.packing,
        enable_gradient_checkpointing=False,
        **settings,
    )
    engine = FSDPEngineConfig(
        strategy=engines.STRATEGY,
        forward_only=optimiser is None,
        mixed_precision=computing.mixed_precision,
        seed=seed,
        use_torch_compile=False,
        # No-sync keeps gradients where zero_grad does not reach, so after an error in a later
        # micro-batch they would leak into the next step.
        use_no_sync_for_gradient_accumulation=False,
    )
    optimiser_config: Any = None  # the default of verl, which types it otherwise
    if optimiser is not None:
        optimiser_config = FSDPOptimizerConfig(
            optimizer=ShardAdamW.__name__,
            optimizer_impl=ShardAdamW.__module__,
            lr=optimiser.learning_rate,
            betas=optimiser.betas,
            weight_decay=optimiser.weight_decay,
            clip_grad=optimiser.clip_grad,
            lr_warmup_steps=optimiser.warmup_steps,
            lr_scheduler_type="cosine" if optimiser.decay_steps else "constant",
            total_training_steps=optimiser.decay_steps,
        )
    return TrainingWorkerConfig(
        model_type=kind,
        model_config=model,
        engine_config=engine,
        optimizer_config=optimiser_config,
        checkpoint_config=CheckpointConfig(),
    )
