"""The `hf` rollouts as one of verl's engines: starts a server beside each process that trains."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from verl.plugin.platform import get_platform
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from ragen_bench.errors import UserError
from ragen_starpo.cluster.hf_server import HFServer
from ragen_starpo.cluster.names import HF_ENGINE, server_name


class HFReplica(RolloutReplica):
    """A server of one process, on the node and the device of its trainer."""

    async def launch_servers(self) -> None:
        """Start the server.

        Raises:
            UserError: if it should span several processes.
        """
        if self.world_size != 1:
            raise UserError("the engine hf samples in one process; set cluster.tensor_parallel=1")
        workers: Any = self.workers  # verl has no type for it before they are made
        node, devices = await workers[0].__ray_call__.remote(_whereabouts)
        platform = get_platform()
        seen = {platform.visible_devices_envvar(): devices} if devices else {}
        apart = dict.fromkeys(platform.ray_noset_envvars(), "1")
        server: Any = (
            ray.remote(HFServer)
            .options(
                name=server_name(self.replica_rank),
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
                runtime_env={"env_vars": {**apart, **seen}},
                max_concurrency=self.max_concurrency,
                num_cpus=0,
            )
            .remote(self.model_config.path, self.config.max_num_seqs)
        )
        self.servers = [server]
        self._server_handle = server
        self._server_address = server_name(self.replica_rank)


def _whereabouts(_worker: object) -> tuple[str, str]:
    """Return the node of a process that trains, and its GPU, if it has one."""
    import torch

    context = ray.get_runtime_context()
    ids = context.get_accelerator_ids().get("GPU", []) if torch.cuda.is_available() else []
    return context.get_node_id(), ",".join(ids)


def register() -> None:
    """Tell verl of this engine."""
    RolloutReplicaRegistry.register(HF_ENGINE, lambda: HFReplica)
