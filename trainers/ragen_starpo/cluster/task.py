"""The process that leads a run: verl's task runner with our trainer."""

from __future__ import annotations

from typing import Any

import ray


@ray.remote(num_cpus=1)
class Task:
    """Started by verl's `run_ppo`."""

    def run(self, config: Any) -> None:
        """Train.

        Args:
            config: verl's, with `ragen`, see `VerlTrainer`.
        """
        import transfer_queue as tq
        from omegaconf import OmegaConf
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
