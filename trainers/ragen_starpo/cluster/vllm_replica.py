"""verl's copies of vLLM, whose servers have hosts of their own.

verl's class for this lies in a module that imports all of vLLM.
"""

from __future__ import annotations

import asyncio
from typing import Any

from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from ragen_starpo.cluster.hf_engine import locate
from ragen_starpo.cluster.hosts import find_server


class VLLMReplica(RolloutReplica):
    """One copy of vLLM, on the GPUs of `cluster.tensor_parallel` training processes of a node."""

    async def launch_servers(self) -> None:
        """Start the server and its engine."""
        workers: Any = self.workers  # verl types it as None until they exist
        places = await asyncio.gather(*(worker.__ray_call__.remote(locate) for worker in workers))
        server: Any = find_server("vllm", self.replica_rank, places[0][0], {}, self.max_concurrency)
        await server.begin.remote(
            config=self.config,
            model_config=self.model_config,
            rollout_mode=self.rollout_mode,
            workers=[],  # which it counts only where data are parallel
            replica_rank=self.replica_rank,
            node_rank=0,
            gpus_per_node=self.gpus_per_replica_node,
            nnodes=1,
            cuda_visible_devices=",".join(devices for _, devices in places),
        )
        address, port, rpc_port = await server.get_master_address.remote()
        await server.launch_server.remote(
            master_address=address, master_port=port, dp_rpc_port=rpc_port
        )
        host, served = await server.get_server_address.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = f"{host}:{served}"

    async def sleep(self) -> None:
        """Free the server's memory when it has answered all requests."""
        server: Any = self.servers[0]
        await server.wait_for_requests_to_drain.remote()
        await server.sleep.remote()


def register() -> None:
    """Register this class with verl."""
    RolloutReplicaRegistry.register("vllm", lambda: VLLMReplica)
