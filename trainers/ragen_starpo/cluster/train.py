"""`ragen-train verl`: checks the recipe, starts Ray and runs verl."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig, OmegaConf, open_dict
from packaging.specifiers import SpecifierSet
from ray.exceptions import RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ragen_bench.errors import UserError, missing_extra
from ragen_starpo.cluster.platform import SUPPORTED_VERL, check_version
from ragen_starpo.cluster.ray_session import check_address, ray_session
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.engine.computing import Device, check_devices, device_here
from ragen_starpo.engine.quiet import import_quietly
from ragen_starpo.local.run import TrainingDirectory, check_run, is_finished
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import ClusterSettings
from ragen_starpo.rollout.episodes import training_pool

WITH_VLLM = {
    "verl": f"=={SUPPORTED_VERL}",
    "vllm": "==0.24.0",
    "torch": "==2.11.0",
    "transformers": ">=5.5.3,!=5.6.0,<5.11",
}
"""Versions that are supported together: this verl fits one vLLM, and that one torch."""


def train(
    recipe: Recipe,
    model_dir: Path,
    out: Path,
    overrides: Sequence[str] = (),
    address: str | None = None,
) -> TrainingDirectory:
    """Train to the recipe's last iteration; the same call resumes a killed run.

    All nodes see `model_dir` and `out`. Without the address of a Ray cluster, this machine
    alone trains. UserError if the run cannot begin, or as `ragen_starpo.local.train.resume_run`
    raises it.
    """
    device = device_of(recipe.cluster, address)
    processes = recipe.cluster.nodes * recipe.cluster.processes
    if recipe.mini_batch % processes:
        raise UserError(
            f"mini_batch={recipe.mini_batch} does not divide among {processes} processes; set "
            f"mini_batch to a multiple of cluster.nodes x cluster.processes, as {processes * 8}"
        )
    check_run(out, recipe)
    training_pool(recipe.envs, recipe.response_format, recipe.environment)
    if is_finished(out, recipe.iterations):
        return TrainingDirectory(out, recipe)
    config = verl_config(recipe, model_dir.resolve(), device, overrides)
    if address is not None:
        check_address(address)
    with open_dict(config):
        config.ragen = {"recipe": json.dumps(recipe.as_json()), "run": str(out.resolve())}
    with ray_session(recipe.cluster, device, address):
        _run(config)
    # Not checked again: the file of a reward may have been edited meanwhile.
    return TrainingDirectory(out)


def device_of(cluster: ClusterSettings, address: str | None) -> Device:
    """Return the device that a run trains on.

    UserError if this machine lacks GPUs (a cluster is checked later), or vLLM is not installed
    in its supported version.
    """
    if address is None:
        check_devices(cluster)
    if cluster.engine == "vllm":
        check_vllm()
    return "cuda" if cluster.device == "gpu" else device_here()


def check_vllm() -> None:
    """Raise UserError if vLLM rollouts lack a package in its supported version."""
    wrong = [
        f"{name}{wanted} ({version or 'not'} installed)"
        for name, wanted in WITH_VLLM.items()
        if (version := _installed_version(name)) is None
        or not SpecifierSet(wanted).contains(version, prereleases=True)
    ]
    if wrong:
        raise UserError(
            f"cluster.engine=vllm needs {' and '.join(wrong)}: in a checkout pip install "
            "-c constraints-train-gpu.txt '.[train-gpu]' in an environment of its own; or set "
            "cluster.engine=hf"
        )


@ray.remote(num_cpus=1)
class Task:
    """The process that leads a run, started by verl's `run_ppo`."""

    def run(self, config: DictConfig) -> None:
        """Train with verl's configuration, see `VerlTrainer`."""
        import transfer_queue as tq
        from verl.trainer.ppo.v1 import AgentLoopManagerTQ

        from ragen_starpo.cluster.verl_trainer import VerlTrainer

        config.transfer_queue.enable = True
        OmegaConf.resolve(config)
        tq.init(config.transfer_queue)
        try:
            trainer = VerlTrainer(config)
            trainer.init()  # type: ignore[no-untyped-call]
            manager = AgentLoopManagerTQ.create(
                config=config,
                llm_client=trainer.get_llm_client(),
                teacher_client=None,
                reward_loop_worker_handles=trainer.get_reward_handles(),
            )
            trainer.fit(manager)
        finally:
            tq.close()


def _run(config: DictConfig) -> None:
    """Train in Ray; raise the leading process's UserError as it is."""
    try:
        check_version()
        import_quietly("verl.trainer.main_ppo")
    except ImportError as missing:
        raise missing_extra(missing, "train") from missing
    from verl.trainer.main_ppo import run_ppo

    task: Any = Task
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    try:
        run_ppo(config, task_runner_class=task.options(scheduling_strategy=here))
    except RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise


def _installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
