"""Where the models of a run are, how many processes play, and what fits into memory.

verl is not imported.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from omegaconf import DictConfig

from ragen_bench.json_types import JsonObject
from ragen_starpo.cluster.vllm_checks import check_gpus
from ragen_starpo.engine.computing import Device
from ragen_starpo.engine.device_memory import find_gpus, host_memory
from ragen_starpo.engine.memory import Placement, check_memory
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.rollout.episodes import count_concurrent

_EPISODES_A_PLAYER, _CORES_A_PLAYER = 128, 4
"""Concurrent episodes that one process plays without slowing them, and cores for each process."""
_REQUESTS = {"vllm": 512, "hf": 256}
"""Largest default of the requests that one engine answers at once. vLLM keeps some 28 bytes a logit
for each, and `hf` a row of keys and values."""
_ROUND = 16
"""Players choose engines by themselves, so one may get some more requests than another."""


def place_models(
    recipe: Recipe, device: Device, config: DictConfig, address: str | None
) -> JsonObject:
    """Return where the models will be, and the bytes that are free; check the GPUs for vLLM.

    With an address no memory is known, as the machines may differ from this one.
    """
    cluster, verl = recipe.cluster, config.actor_rollout_ref
    gpus = find_gpus()[: cluster.processes] if device == "cuda" and address is None else []
    if cluster.engine == "vllm":
        check_gpus(cluster, gpus, verl.rollout.engine_kwargs.vllm.attention_backend)
    placement = Placement(
        device,
        cluster.engine,
        ranks=cluster.nodes * cluster.processes,
        here=cluster.processes if device == "cpu" else 1,
        recomputes=verl.model.enable_gradient_checkpointing,
        gpu=min((gpu.total for gpu in gpus), default=None),
        requests=verl.rollout.max_num_seqs,
        cache=verl.rollout.engine_kwargs.vllm.kv_cache_memory_bytes,
    )
    available = min((gpu.free for gpu in gpus), default=None)
    if device == "cpu" and address is None:
        available = host_memory()
    return {"placement": asdict(placement), "available": available}


def fit_to_memory(config: DictConfig) -> JsonObject:
    """Return the estimate of a run's memory for its record, and set what verl computes again.

    UserError if the model does not fit. verl's configuration has the place of the models and the
    free memory in `ragen.memory`.
    """
    place, verl = json.loads(config.ragen.memory), config.actor_rollout_ref
    recipe, placement = recipe_of(json.loads(config.ragen.recipe), "the run"), place["placement"]
    placement = Placement(**placement)
    record = check_memory(recipe, Path(verl.model.path), placement, place["available"])
    # The estimate has chosen for both models, or what the user set for the policy was given.
    recomputes = placement.recomputes is not None or record.get("recomputes", True)
    for model in (verl.model, config.critic.model):
        if model.enable_gradient_checkpointing is None:
            model.enable_gradient_checkpointing = recomputes
    return record


def count_players(recipe: Recipe, cores: int) -> int:
    """Return the number of processes that play episodes, on nodes of so many cores."""
    groups, nodes = recipe.rollouts.instances, recipe.cluster.nodes
    useful = math.ceil(groups * recipe.rollouts.samples / _EPISODES_A_PLAYER)
    # A group is played by one process.
    return max(1, min(useful, groups, nodes * (cores // _CORES_A_PLAYER)))


def count_requests(recipe: Recipe) -> int:
    """Return the number of requests with which one engine answers all its episodes at once."""
    cluster = recipe.cluster
    engines = cluster.nodes * cluster.processes // cluster.tensor_parallel
    each = math.ceil(count_concurrent(recipe) / engines / _ROUND) * _ROUND
    return min(_REQUESTS[cluster.engine], each)
