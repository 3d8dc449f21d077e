"""verl's workers of the training processes, on a CPU or GPU.

Importing this module registers the engines and the adapters of the rollouts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from tensordict import TensorDict
from torch import Tensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils.device import get_device_name
from verl.workers.config import TrainingWorkerConfig
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.rollout.base import _ROLLOUT_REGISTRY

from ragen_envs.core.folders import replacing_folder
from ragen_starpo.cluster.engines import compute_gradient_norm, compute_outputs
from ragen_starpo.cluster.names import HF_ENGINE
from ragen_starpo.cluster.rows import align_rows, to_verl
from ragen_starpo.engine.adapters import merged_weights
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.folders import write_model
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.rollout.trajectory import TokenBatch

_ROLLOUT_REGISTRY[HF_ENGINE, "async"] = "ragen_starpo.cluster.hf_engine.HFAdapter"
_ROLLOUT_REGISTRY["vllm", "async"] = "ragen_starpo.cluster.vllm_adapter.VLLMAdapter"


Method = TypeVar("Method", bound=Callable[..., Any])


def _on_all_ranks(method: Method) -> Method:
    """Make verl's worker groups call a method on all ranks."""
    modes: Any = Dispatch
    registered: Method = register(dispatch_mode=modes.ONE_TO_ALL)(method)  # type: ignore[no-untyped-call]
    return registered


class TrainedWorker(TrainingWorker):
    """One process of the policy, the critic or the reference."""

    def __init__(self, config: TrainingWorkerConfig) -> None:
        # verl's own call names the backend of a CPU twice, which torch refuses.
        if get_device_name() == "cpu" and not torch.distributed.is_initialized():
            torch.distributed.init_process_group(
                "gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
            )
        super().__init__(config)


class PolicyWorker(ActorRolloutRefWorker):
    """One process of the policy, with the reference if there is one."""

    actor_worker_cls = TrainedWorker
    ref_worker_cls = TrainedWorker

    @_on_all_ranks
    def save_model(self, folder: str, model_dir: str) -> None:
        """Write a folder that transformers reads, with adapters merged and the tokenizer copied.

        All ranks gather the weights, and rank 0 writes; an existing folder is replaced at
        the end.
        """
        weights, rank = {}, torch.distributed.get_rank()
        for name, tensor in merged_weights(self._module):
            if rank == 0:
                weights[name] = tensor.cpu()
        if rank == 0:
            with replacing_folder(Path(folder)) as draft:
                write_model(draft, weights, self._module.config, Path(model_dir))
        torch.distributed.barrier()

    @_on_all_ranks
    def log_probs(
        self, batch: TokenBatch, micro_batch: int, temperature: float, computing: Computing
    ) -> Tensor:
        """Return log-probabilities of this rank's part of the batch; 0 on unsampled tokens."""
        data = _select_rows(batch, {}, micro_batch, temperature, computing)
        return align_rows(compute_outputs(self.actor, data)["log_probs"], data)

    @_on_all_ranks
    def gradient_norm(
        self,
        batch: TokenBatch,
        columns: Mapping[str, Tensor],
        loss_fn: PolicyLossFunction,
        micro_batch: int,
        temperature: float,
        computing: Computing,
    ) -> float:
        """Return the norm of a loss's gradient over all ranks' rows, without taking a step."""
        data = _select_rows(batch, columns, micro_batch, temperature, computing)
        return compute_gradient_norm(self.actor, data, loss_fn)

    @property
    def _module(self) -> Any:
        actor: Any = self.actor
        return actor.engine.module


def _select_rows(
    batch: TokenBatch,
    columns: Mapping[str, Tensor],
    micro_batch: int,
    temperature: float,
    computing: Computing,
) -> TensorDict:
    ranks, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    indices = torch.arange(len(batch)).chunk(ranks)[rank]
    longest = int(batch.attention.sum(1).max())
    part = {name: column[indices] for name, column in columns.items()}
    return to_verl(batch.rows(indices), part, micro_batch, temperature, computing, longest)
