"""verl's copies of vLLM, whose servers have hosts of their own.

verl's class for this lies in a module that imports all of vLLM.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import ray
from omegaconf import DictConfig
from verl.workers.rollout.replica import RolloutMode, RolloutReplica, RolloutReplicaRegistry

from ragen_starpo.cluster.hf_engine import locate
from ragen_starpo.cluster.hosts import find_server

T = TypeVar("T")
LAUNCH = "launch of vLLM"
_LAUNCHED: dict[int, Future[tuple[Any, str]]] = {}
"""Servers and their addresses, by rank, that start before verl asks for them."""


class VLLMReplica(RolloutReplica):
    """One copy of vLLM, on the GPUs of `cluster.tensor_parallel` training processes of a node."""

    async def launch_servers(self) -> None:
        """Start the server and its engine, or wait for those that start already."""
        if self.replica_rank in _LAUNCHED:
            launched = asyncio.wrap_future(_LAUNCHED.pop(self.replica_rank))
            server, self._server_address = await launched
        else:
            workers: Any = self.workers  # verl types it as None until they exist
            places = await asyncio.gather(*(one.__ray_call__.remote(locate) for one in workers))
            devices = ",".join(devices for _, devices in places)
            server, self._server_address = await self.launch(places[0][0], devices)
        self.servers = [server]
        self._server_handle = server

    async def launch(self, node: str, devices: str) -> tuple[Any, str]:
        """Start the server and its engine on a node's GPUs; return it and its address."""
        server: Any = find_server("vllm", self.replica_rank, node, {}, self.max_concurrency)
        await server.begin.remote(
            config=self.config,
            model_config=self.model_config,
            rollout_mode=self.rollout_mode,
            workers=[],  # which it counts only where data are parallel
            replica_rank=self.replica_rank,
            node_rank=0,
            gpus_per_node=self.gpus_per_replica_node,
            nnodes=1,
            cuda_visible_devices=devices,
        )
        address, port, rpc_port = await server.get_master_address.remote()
        await server.launch_server.remote(
            master_address=address, master_port=port, dp_rpc_port=rpc_port
        )
        host, served = await server.get_server_address.remote()
        return server, f"{host}:{served}"

    async def sleep(self) -> None:
        """Free the server's memory when it has answered all requests."""
        server: Any = self.servers[0]
        await server.wait_for_requests_to_drain.remote()
        await server.sleep.remote()


def launch_early(config: DictConfig, cache: int | None) -> None:
    """Start vLLM while its training process starts, if its GPU and its memory are known.

    So it is for one process on a node with one GPU. Without the bytes of its `cache` vLLM would
    measure the GPU's memory, of which the training process takes some meanwhile.
    """
    rollout, trainer = config.actor_rollout_ref.rollout, config.trainer
    nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    cache = rollout.engine_kwargs.vllm.kv_cache_memory_bytes or cache
    if rollout.name != "vllm" or cache is None:
        return
    if len(nodes) == trainer.n_gpus_per_node == nodes[0]["Resources"].get("GPU") == 1:
        rollout.engine_kwargs.vllm.kv_cache_memory_bytes = cache
        replica = VLLMReplica(0, rollout, config.actor_rollout_ref.model, 1)
        replica.rollout_mode = RolloutMode.HYBRID
        devices = os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        _LAUNCHED[0] = in_background(replica.launch(nodes[0]["NodeID"], devices))


def in_background(launching: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in a thread that neither an error elsewhere nor the process's end awaits."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(asyncio.run(launching))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            future.set_exception(error)

    Thread(target=run, name=LAUNCH, daemon=True).start()
    return future


def register() -> None:
    """Register this class with verl."""
    RolloutReplicaRegistry.register("vllm", lambda: VLLMReplica)
