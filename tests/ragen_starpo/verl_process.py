"""verl in this process: its platform, torch's process group, and its models.

verl has one platform and torch one process group in a process.
"""

import importlib
import logging
import os
import warnings
from pathlib import Path

import pytest
import torch
import torch.distributed
from torch._C._distributed_c10d import HashStore

from ragen_bench.visible import visible
from ragen_starpo.cluster.ray_session import environment
from ragen_starpo.engine.computing import PLAIN
from ragen_starpo.engine.quiet import LOG, prints_logged

# verl reads the address of a rendezvous and writes it back; nothing connects to it.
ONE_PROCESS = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "0",
}


_VERL_LEVEL = "VERL_LOGGING_LEVEL"


def import_quietly(module: str) -> None:
    """Import a module of verl, which warns of engines that are not installed and sets up logging.

    Its warnings are logged for debugging, and the root logger is restored. Loggers of verl read
    their level on import from a variable, which is WARNING here unless the user has set it.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    level_before = os.environ.get(_VERL_LEVEL)
    os.environ.setdefault(_VERL_LEVEL, "WARNING")
    try:
        with warnings.catch_warnings(record=True) as caught, prints_logged():
            importlib.import_module(module)
    finally:
        if level_before is None:
            del os.environ[_VERL_LEVEL]
        root.handlers[:] = handlers
        root.setLevel(level)
    for warning in caught:
        LOG.debug("%s", visible(str(warning.message)))


def prepare():
    """Choose the platform of the CPU, and make a process group of one."""
    import_quietly("verl.plugin.platform")
    from verl.plugin.platform import set_platform

    from ragen_starpo.cluster.cpu import CpuPlatform

    set_platform(CpuPlatform())
    import_quietly("verl.workers.engine_workers")
    # What it imports sets TORCH_CUDA_ARCH_LIST.
    import_quietly("verl.trainer.ppo.v1.replay_buffer")
    if not torch.distributed.is_initialized():
        # Without a port, with its store in memory.
        torch.distributed.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)


def release():
    """Leave the process group."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.fixture(scope="package", autouse=True)
def in_process_group():
    """Hold the process group, and leave it; the platform stays that of the CPU."""
    prepare()
    before = dict(os.environ)
    yield
    release()
    assert dict(os.environ) == {**before, "PYTEST_CURRENT_TEST": os.environ["PYTEST_CURRENT_TEST"]}


def on_one_worker(items, folder):
    """Let the tests of a folder share a worker of xdist, so that verl is imported once.

    Args:
        items: all tests.
        folder: of tests, such as "ragen_starpo/cluster".
    """
    for item in items:
        if folder in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("verl"))


class VerlModel:
    """A model in verl's `TrainingWorker` of this process, for batches as `Policy` takes them."""

    def __init__(
        self, kind, folder, optimiser=None, micro_batch=4, lora=None, *, seed=0, computing=PLAIN
    ):
        from verl.workers.engine_workers import TrainingWorker

        self._micro_batch, self._computing = micro_batch, computing
        with environment(ONE_PROCESS):
            self.worker = TrainingWorker(
                worker_config(kind, folder, optimiser, lora, seed, computing)
            )
            self.worker.reset()
        self.engine = self.worker.engine
        self.gradients = {}

    def outputs(self, batch, names, temperature=1.0):
        """Return outputs as (sequences, tokens), 0 except on sampled tokens."""
        from ragen_starpo.cluster.engines import compute_outputs
        from ragen_starpo.cluster.rows import align_rows

        data = self._rows(batch, {}, temperature)
        outputs = compute_outputs(self.worker, data)
        return [align_rows(outputs[name], data) for name in names]

    def update(self, batch, columns, loss_fn, temperature=1.0):
        """Take a step, keep its gradients, and return the loss and the gradient's norm."""
        from verl.utils import tensordict_utils

        data = self._rows(batch, columns, temperature)
        tensordict_utils.assign_non_tensor(data, update_lr_scheduler=True)
        self.worker.set_loss_fn(loss_fn)
        step = self.engine.optimizer_step

        def recorded():
            named = self.engine.module.named_parameters()
            self.gradients = {
                name: weight.grad.full_tensor().clone()
                for name, weight in named
                if weight.grad is not None
            }
            return step()

        self.engine.optimizer_step = recorded
        metrics = tensordict_utils.get(self.worker.train_batch(data), "metrics")
        self.engine.optimizer_step = step
        return {name: float(metrics[name]) for name in ("loss", "grad_norm")}

    def _rows(self, batch, columns, temperature):
        from ragen_starpo.cluster.rows import to_verl

        return to_verl(batch, columns, self._micro_batch, temperature, self._computing)


def worker_config(kind, folder, optimiser, lora, seed, computing):
    """Return the configuration of one of verl's workers."""
    from verl.trainer.config import CheckpointConfig
    from verl.workers.config import (
        FSDPEngineConfig,
        FSDPOptimizerConfig,
        HFModelConfig,
        TrainingWorkerConfig,
    )

    from ragen_starpo.cluster.engines import STRATEGY

    adapters = {}
    if lora is not None:
        adapters = {
            "lora_rank": lora.rank,
            "lora_alpha": lora.alpha,
            "target_modules": lora.targets,
        }
    model = HFModelConfig(
        path=str(Path(folder)),
        load_tokenizer=False,
        override_config={"attn_implementation": computing.attention},
        use_remove_padding=computing.packing,
        enable_gradient_checkpointing=False,
        **adapters,
    )
    engine = FSDPEngineConfig(
        strategy=STRATEGY,
        forward_only=optimiser is None,
        mixed_precision=computing.mixed_precision,
        seed=seed,
        use_torch_compile=False,
        use_no_sync_for_gradient_accumulation=False,
    )
    steps = None
    if optimiser is not None:
        steps = FSDPOptimizerConfig(
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
        optimizer_config=steps,
        checkpoint_config=CheckpointConfig(),
    )
