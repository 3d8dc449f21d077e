"""`ragen-train verl`: checks the recipe, starts Ray and runs verl."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig, open_dict
from ray.exceptions import RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ragen_bench.errors import UserError, missing_extra
from ragen_starpo.cluster.ray_session import check_address, ray_session
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.cluster.versions import check_vllm
from ragen_starpo.engine.computing import Device
from ragen_starpo.engine.platform import check_version
from ragen_starpo.engine.quiet import import_quietly
from ragen_starpo.hardware import check_devices, device_here
from ragen_starpo.local.run import TrainingDirectory, check_run, is_finished
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import ClusterSettings
from ragen_starpo.rollout.training_envs import training_pool


def train(
    recipe: Recipe,
    model_dir: Path,
    out: Path,
    overrides: Sequence[str] = (),
    address: str | None = None,
) -> TrainingDirectory:
    """Train to the recipe's last iteration; the same call resumes a killed run.

    Args:
        recipe: The recipe of the run.
        model_dir: Folder of the initial model, visible to all nodes.
        out: Directory of the run, visible to all nodes.
        overrides: hydra overrides of verl's configuration.
        address: Address of a Ray cluster; None for this machine alone.

    Returns:
        The run.

    Raises:
        UserError: If the run cannot begin, and as `ragen_starpo.local.train.resume_run` does.
    """
    device = device_of(recipe.cluster, address)
    _check_batches(recipe.mini_batch, recipe.cluster)
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

    Raises:
        UserError: If it needs GPUs that this machine lacks (a cluster is checked later), or vLLM in
            versions that are not installed.
    """
    if address is None:
        check_devices(cluster)
    if cluster.engine == "vllm":
        check_vllm()
    return "cuda" if cluster.device == "gpu" else device_here()


def _check_batches(mini_batch: int, cluster: ClusterSettings) -> None:
    """Check that the processes get equal parts of a mini-batch."""
    processes = cluster.nodes * cluster.processes
    if mini_batch % processes:
        raise UserError(
            f"mini_batch={mini_batch} does not divide among {processes} processes; set "
            f"mini_batch to a multiple of cluster.nodes x cluster.processes, as {processes * 8}"
        )


def _run(config: DictConfig) -> None:
    """Train in Ray.

    Raises:
        UserError: If the leading process raised it.
    """
    try:
        check_version()
        import_quietly("verl.trainer.main_ppo")
    except ImportError as missing:
        raise missing_extra(missing, "train") from missing
    from verl.trainer.main_ppo import run_ppo

    from ragen_starpo.cluster.task import Task

    task: Any = Task
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    try:
        run_ppo(config, task_runner_class=task.options(scheduling_strategy=here))
    except RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise
