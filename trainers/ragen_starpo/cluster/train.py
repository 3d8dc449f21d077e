"""`ragen-train verl`: checks the recipe, starts Ray and runs verl."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig, OmegaConf, open_dict
from ray.exceptions import RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.models.days import today
from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
from ragen_starpo.cluster.hosts import start_players, start_servers
from ragen_starpo.cluster.placement import fit_to_memory, place_models
from ragen_starpo.cluster.ray_session import check_address, explain_death, ray_session
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.cluster.vllm_checks import SUPPORTED_VERL, check_attention, check_versions
from ragen_starpo.engine.computing import Device, check_devices, device_here
from ragen_starpo.local.full_memory import explain_memory
from ragen_starpo.local.run import TrainingDirectory, check_run, is_finished, recorded_day
from ragen_starpo.local.untrained import warn_if_untrained
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import ClusterSettings
from ragen_starpo.rollout.episodes import find_state_readers, training_pool


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
    find_state_readers(recipe)
    if is_finished(out, recipe.iterations):
        run = TrainingDirectory(out, recipe)
        warn_if_untrained(run.lines("metrics.jsonl"))
        return run
    if recipe.lora is not None:
        from ragen_starpo.engine.adapters import check_adapters  # imports transformers

        check_adapters(model_dir, recipe)
    config = verl_config(recipe, model_dir.resolve(), device, overrides)
    if recipe.cluster.engine == "vllm":
        chosen = config.actor_rollout_ref.rollout.engine_kwargs.vllm.attention_backend
        check_attention(model_dir, recipe.cluster, chosen)
    memory = place_models(recipe, device, config, address)
    if address is not None:
        check_address(address)
    with open_dict(config):
        config.ragen = {
            "recipe": json.dumps(recipe.as_json()),
            "run": str(out.resolve()),
            "day": recorded_day(out) or today(),
            "memory": json.dumps(memory),
        }
    # A full memory is named as such where Ray killed a process for it.
    with ray_session(recipe.cluster, device, address), explain_death(out), explain_memory(out):
        _run(config)
    # Not checked again: the file of a reward may have been edited meanwhile.
    run = TrainingDirectory(out)
    warn_if_untrained(run.lines("metrics.jsonl"))
    return run


def device_of(cluster: ClusterSettings, address: str | None) -> Device:
    """Return the device that a run trains on.

    UserError if this machine lacks GPUs (a cluster is checked later), or vLLM is not installed
    in its supported version.
    """
    if address is None:
        check_devices(cluster)
    if cluster.engine == "vllm":
        check_versions()
    return "cuda" if cluster.device == "gpu" else device_here()


@ray.remote(num_cpus=1)
class Task:
    """The process that leads a run."""

    def run(self, config: DictConfig, players: list[Any]) -> None:
        """Train with verl's configuration and the hosts that play, see `VerlTrainer`."""
        config.transfer_queue.enable = True
        OmegaConf.resolve(config)
        try:
            trainer = _start_trainer(config)
            handles = trainer.llm_server_manager.server_handles
            ray.get([player.begin.remote(config, handles) for player in players])
            trainer.fit(players)
        finally:
            import transfer_queue

            transfer_queue.close()


def _start_trainer(config: DictConfig) -> Any:
    """Start the queue, vLLM and the training processes, and import verl's trainer."""
    with ThreadPoolExecutor(1) as pool:
        with pause_garbage_collection():
            import_transformers()
            import transfer_queue

            queue = pool.submit(transfer_queue.init, config.transfer_queue)
            memory = fit_to_memory(config)  # a model that does not fit starts no engine
            from ragen_starpo.cluster.vllm_replica import launch_early

            launch_early(config, memory.get("cache"))
            # The rest of verl is imported while vLLM starts.
            from ragen_starpo.cluster.verl_trainer import VerlTrainer

        trainer = VerlTrainer(config, memory)
        trainer.init()  # type: ignore[no-untyped-call]
        queue.result()
    return trainer


def check_version() -> None:
    """Raise UserError if another version of verl than the supported one is installed."""
    installed = importlib.metadata.version("verl")
    if installed != SUPPORTED_VERL:
        raise UserError(
            f"verl {installed} is installed, and {SUPPORTED_VERL} is supported: pip install "
            f"verl=={SUPPORTED_VERL}"
        )


def _run(config: DictConfig) -> None:
    """Train in Ray; raise the leading process's UserError as it is."""
    try:
        check_version()
    except ImportError as missing:
        raise missing_extra(missing, "train") from missing
    task: Any = Task
    servers = []
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    try:
        # Not by verl's own `run_ppo`, whose module opens a context on the GPU in this process.
        leader = task.options(scheduling_strategy=here).remote()
        # Each process needs seconds for its imports, so these begin with the leading one's.
        players = start_players(config.actor_rollout_ref.rollout.agent.num_workers)
        servers += start_servers(config)
        ray.get(leader.run.remote(config, players))
    except RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise
    finally:
        # Actors that have names end with the last handle of their owner, this process.
        servers.clear()
