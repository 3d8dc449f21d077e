"""One of verl's TrainingWorkers, made and run in this process.

Call `ragen_starpo.engine.platform.prepare` before this module is imported, see there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from tensordict import TensorDict
from torch import Tensor
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
from ragen_starpo.engine.merging import merged_weights
from ragen_starpo.engine.optimiser import ShardAdamW
from ragen_starpo.engine.platform import environment
from ragen_starpo.engine.quiet import libraries_quiet, prints_logged
from ragen_starpo.recipes.sections import LoraSettings, OptimiserSettings

Kind = Literal["language_model", "value_model"]
_CHECKPOINT = "model_world_size_1_rank_0.pt"
"""The file by which verl's checkpoints of one process are known."""


@dataclass(frozen=True)
class Blueprint:
    """What a worker is made from.

    Attributes:
        kind: of model.
        model_dir: its folder.
        optimiser: None for a model that is not trained.
        lora: None to train all weights.
        seed: of what is drawn anew: adapters, the value head.
        computing: how it computes.
    """

    kind: Kind
    model_dir: Path
    optimiser: OptimiserSettings | None
    lora: LoraSettings | None
    seed: int
    computing: Computing


class Backend:
    """A model with its optimiser.

    FSDP2 is used although one process has nothing to shard: of verl's engines it is the one that
    leaves parameters their names and shapes, which LoRA, checkpoints and saving build on.

    Args:
        blueprint: what it is made from.

    Raises:
        UserError: if the model cannot be loaded.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        with environment(), libraries_quiet(), prints_logged():
            self.worker = _made(blueprint)

    @property
    def module(self) -> Any:
        """The model, of DTensors."""
        return self.worker.engine.module

    @property
    def device(self) -> torch.device:
        """Where it is."""
        device: torch.device = next(self.module.parameters()).device
        return device

    def outputs(self, data: TensorDict) -> TensorDict:
        """Return what the model says, see `outputs_of`."""
        with libraries_quiet():
            return outputs_of(self.worker, data)

    def step(self, data: TensorDict, loss: Callable[..., Any]) -> dict[str, float]:
        """Take one step of the optimiser and of its schedule.

        Args:
            data: the mini-batch.
            loss: called as verl calls losses, for each micro-batch.

        Returns:
            `loss`, `grad_norm` before clipping, and `lr`, the rate of this step.
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

    def gradient_norm(self, data: TensorDict, loss: Callable[..., Any]) -> float:
        """Return the norm of a loss's gradient, see `gradient_norm_of`."""
        with libraries_quiet():
            return gradient_norm_of(self.worker, data, loss)

    def state(self) -> dict[str, Tensor]:
        """Return copies of the weights by the model's own names, adapters merged into them."""
        return dict(merged_weights(self.module))

    def save_checkpoint(self, folder: Path) -> None:
        """Write weights, optimiser, schedule and random states; whole or not at all."""
        with replacing_folder(folder) as draft, prints_logged(), libraries_quiet():
            self.worker.save_checkpoint(str(draft))

    def load_checkpoint(self, folder: Path) -> None:
        """Go on from a checkpoint, global random states (torch, NumPy, Python) included.

        It is unpickled: load only what you wrote yourself.

        Raises:
            UserError: if there is none, or of another model.
        """
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


def outputs_of(worker: Any, data: TensorDict) -> Any:
    """Return what a worker's model says, without gradient; jagged, see `ragen_starpo.engine.rows`.

    Args:
        worker: a `TrainingWorker` of verl.
        data: rows of verl.
    """
    tensordict_utils.assign_non_tensor(data, compute_loss=False)
    return worker.infer_batch(data)


def gradient_norm_of(worker: Any, data: TensorDict, loss: Callable[..., Any]) -> float:
    """Return the norm of a loss's gradient; all that the next step depends on stays as it is.

    That is weights, optimiser, schedule, and torch's random states, which a model with dropout
    draws from.

    Args:
        worker: a `TrainingWorker` of verl with one of our engines.
        data: the mini-batch, rows of verl.
        loss: called as verl calls losses, for each micro-batch.
    """
    usual, worker.loss_fn, worker.engine.measures = worker.loss_fn, loss, True
    try:
        with engines.draws_apart():
            output = worker.train_batch(data)
    finally:
        worker.loss_fn, worker.engine.measures = usual, False
    return float(tensordict_utils.get(output, "metrics")["grad_norm"])


def _made(blueprint: Blueprint) -> Any:
    try:
        worker = TrainingWorker(_config(blueprint))
        worker.reset()
    except (OSError, ValueError, AssertionError) as error:
        raise UserError(
            f"no model can be loaded from {str(blueprint.model_dir)!r}: {described(error)}"
        ) from error
    return worker


def _config(blueprint: Blueprint) -> TrainingWorkerConfig:
    return TrainingWorkerConfig(
        model_type=blueprint.kind,
        model_config=_model_config(blueprint),
        engine_config=FSDPEngineConfig(
            strategy=engines.STRATEGY,
            forward_only=blueprint.optimiser is None,
            mixed_precision=blueprint.computing.mixed_precision,
            seed=blueprint.seed,
            use_torch_compile=False,
            # It keeps gradients of earlier micro-batches where zero_grad does not reach: an error
            # in a later one would leave them to the next step. One process has nothing to sync.
            use_no_sync_for_gradient_accumulation=False,
        ),
        **_optimiser_config(blueprint.optimiser),
        checkpoint_config=CheckpointConfig(),
    )


def _model_config(blueprint: Blueprint) -> HFModelConfig:
    lora = blueprint.lora
    adapted: dict[str, Any] = {}
    if lora is not None:
        names = lora.target_modules
        adapted = {
            "lora_rank": lora.rank,
            "lora_alpha": lora.alpha,
            "target_modules": names if isinstance(names, str) else list(names),
        }
    return HFModelConfig(
        path=str(blueprint.model_dir),
        load_tokenizer=False,
        override_config={"attn_implementation": blueprint.computing.attention},
        use_remove_padding=blueprint.computing.packing,
        enable_gradient_checkpointing=False,
        **adapted,
    )


def _optimiser_config(settings: OptimiserSettings | None) -> dict[str, Any]:
    if settings is None:
        return {}
    config = FSDPOptimizerConfig(
        optimizer=ShardAdamW.__name__,
        optimizer_impl=ShardAdamW.__module__,
        lr=settings.learning_rate,
        betas=settings.betas,
        weight_decay=settings.weight_decay,
        clip_grad=settings.clip_grad,
        lr_warmup_steps=settings.warmup_steps,
        lr_scheduler_type="cosine" if settings.decay_steps else "constant",
        total_training_steps=settings.decay_steps,
    )
    return {"optimizer_config": config}
