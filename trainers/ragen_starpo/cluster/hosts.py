"""Processes that import what they will run while others still start.

Ray imports an actor's class in each process that gets its handle. A host's class imports nothing,
so only the process of an engine imports the engine.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any

import ray
from omegaconf import DictConfig
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
from ragen_starpo.cluster.names import HF_ENGINE

PLAYER = "ragen_starpo.cluster.agent_loop:Player"
"""The class that plays episodes."""
ENGINES = {
    HF_ENGINE: "ragen_starpo.cluster.hf_engine:HFServer",
    "vllm": "verl.workers.rollout.vllm_rollout.vllm_async_server:vLLMHttpServer",
}
"""The servers of the sampling engines."""
FORWARDED = (
    *("abort_all_requests", "clear_kv_cache", "collective_rpc", "generate", "get_master_address"),
    *("get_server_address", "launch_server", "play", "release_kv_cache"),
    *("resume_generation", "resume_kv_cache", "set_global_steps", "sleep", "take"),
    *("wait_for_requests_to_drain", "wake_up"),
)
"""Methods of hosted objects that verl calls through actor handles."""
_CONCURRENT, _CONTROLLING = 1000, 16
"""Calls at a time, Ray's own default, and calls besides those for responses."""


class Host:
    """An actor for a class whose arguments are not known yet.

    Args:
        place: `MODULE:CLASS`.
    """

    def __init__(self, place: str) -> None:
        module, _, name = place.partition(":")
        with pause_garbage_collection():
            if place != ENGINES["vllm"]:  # which needs torch's compiler
                import_transformers()
            kind: Any = getattr(importlib.import_module(module), name)
        # verl has already made some of them Ray actors.
        self._kind = getattr(kind, "__ray_actor_class__", kind)
        self._hosted: Any = None

    async def begin(self, *arguments: object, **named: object) -> None:
        """Make the object, which answers from now on."""
        self._hosted = self._kind(*arguments, **named)


def _forward(name: str) -> Callable[..., Any]:
    async def forward(self: Host, *arguments: object, **named: object) -> object:
        answer = getattr(self._hosted, name)(*arguments, **named)
        return await answer if inspect.isawaitable(answer) else answer

    return forward


for _name in FORWARDED:
    setattr(Host, _name, _forward(_name))


def start_players(count: int) -> list[Any]:
    """Start hosts that play episodes on all nodes in turn, without waiting for them."""
    nodes = [
        node["NodeID"]
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]
    kind: Any = ray.remote(Host)
    return [
        kind.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=True)).remote(
            PLAYER
        )
        for node in islice(cycle(nodes), count)
    ]


def start_servers(config: DictConfig) -> list[Any]:
    """Start the hosts of the engines, if it is known where; their owner must keep the handles.

    On several nodes the training processes' places decide, also for a run that needs only one of
    them, and a GPU has to be chosen before the imports of the engine `hf`.
    """
    rollout, trainer = config.actor_rollout_ref.rollout, config.trainer
    nodes = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
    if nodes > 1 or (rollout.name == HF_ENGINE and trainer.device != "cpu"):
        return []
    here = ray.get_runtime_context().get_node_id()
    count = trainer.n_gpus_per_node // rollout.tensor_model_parallel_size
    return [
        _start_server(rollout.name, rank, here, {}, concurrent_calls(rollout.max_num_seqs))
        for rank in range(count)
    ]


def concurrent_calls(sequences: int) -> int:
    """Return the calls at a time of a server, with a margin for calls that control it."""
    return max(_CONCURRENT, sequences + _CONTROLLING)


def find_server(engine: str, rank: int, node: str, variables: Mapping[str, str], calls: int) -> Any:
    """Return the host of an engine, started now if it is not yet."""
    try:
        return ray.get_actor(server_name(engine, rank))
    except ValueError:
        return _start_server(engine, rank, node, variables, calls)


def server_name(engine: str, rank: int) -> str:
    """Return the Ray name of a copy of an engine, as verl's end of vLLM looks it up."""
    return f"{engine}_server_{rank}_0"


def _start_server(
    engine: str, rank: int, node: str, variables: Mapping[str, str], calls: int
) -> Any:
    if engine == "vllm":
        # As verl's own platform sets them: a server sees all GPUs and chooses its own.
        nccl = os.environ.get("NCCL_CUMEM_ENABLE", "0")
        variables = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "NCCL_CUMEM_ENABLE": nccl}
    kind: Any = ray.remote(Host)
    return kind.options(
        name=server_name(engine, rank),
        scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        runtime_env={"env_vars": dict(variables)},
        max_concurrency=calls,
        num_cpus=0,
    ).remote(ENGINES[engine])
