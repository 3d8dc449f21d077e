"""Which parts of verl this driver stands on, beside those of `ragen_starpo.engine.contract`."""

from __future__ import annotations

from ragen_starpo.engine.contract import Symbol

_TRAINER = "verl.trainer.ppo.v1.trainer_base:PPOTrainer"
_BUFFER = "verl.trainer.ppo.v1.replay_buffer:ReplayBuffer"
_WORKER = "verl.workers.engine_workers:"
_REPLICA = "verl.workers.rollout.replica:"
_LOOP = "verl.experimental.agent_loop.agent_loop:"
SYMBOLS = (
    Symbol("verl.trainer.main_ppo:run_ppo", ("config", "task_runner_class")),
    Symbol("verl.trainer.ppo.v1.trainer_sync:PPOTrainerSync", ("config",)),
    Symbol(_TRAINER + ".init"),
    Symbol(_TRAINER + ".fit", ("agent_loop_manager",)),
    Symbol(_TRAINER + "._init_dataloader"),
    Symbol(_TRAINER + "._init_resource_pool_mgr"),
    Symbol(_TRAINER + "._load_checkpoint"),
    Symbol(_TRAINER + ".get_llm_client"),
    Symbol(_TRAINER + ".get_reward_handles"),
    Symbol("verl.trainer.ppo.v1:AgentLoopManagerTQ.create"),
    Symbol("verl.trainer.ppo.v1:AgentLoopManagerTQ.generate_sequences", ("prompts",)),
    Symbol("verl.trainer.ppo.utils:Role", ("value",)),
    Symbol(
        "verl.trainer.ppo.padding_utils:upsample_batch_to_divisible_size",
        ("batch", "batch_multiple", "eos_token_id"),
    ),
    Symbol(
        _BUFFER,
        (
            *("trainer_mode", "trainer_config", "max_off_policy_threshold"),
            *("max_off_policy_strategy", "sampler_kwargs", "poll_interval", "refill_fn"),
        ),
    ),
    Symbol(_BUFFER + ".sample", ("global_steps", "partition_id", "batch_size")),
    Symbol(_BUFFER + "._sync_metadata_from_transfer_queue"),
    Symbol(_BUFFER + "._wait_for_next_poll", ("partition_id", "last_debug_time")),
    Symbol("verl.checkpoint_engine:CheckpointEngineManager.update_weights", ("global_steps",)),
    Symbol("verl.checkpoint_engine:CheckpointEngineManager.sleep_replicas"),
    Symbol(_WORKER + "ActorRolloutRefWorker", ("config", "role")),
    Symbol(_WORKER + "ActorRolloutRefWorker.set_loss_fn", ("loss_fn",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.compute_log_prob", ("data",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.compute_ref_log_prob", ("data",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.update_actor", ("data",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.save_checkpoint", ("local_path",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.load_checkpoint", ("local_path",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.actor_worker_cls", ("config",)),
    Symbol(_WORKER + "ActorRolloutRefWorker.ref_worker_cls", ("config",)),
    Symbol(_WORKER + "TrainingWorker.train_mini_batch", ("data",)),
    Symbol("verl.single_controller.base.decorator:register", ("dispatch_mode",)),
    Symbol("verl.workers.rollout.base:get_rollout_class", ("rollout_name",)),
    Symbol("verl.workers.rollout.base:BaseRollout.update_weights", ("weights", "wire_format")),
    Symbol("verl.workers.rollout.base:BaseRollout.resume", ("tags",)),
    Symbol("verl.workers.rollout.base:BaseRollout.release"),
    Symbol(_REPLICA + "RolloutReplicaRegistry.register", ("name", "loader")),
    Symbol(_REPLICA + "RolloutReplica", ("replica_rank", "config", "model_config")),
    Symbol(_REPLICA + "RolloutReplica.launch_servers"),
    Symbol(
        "verl.workers.rollout.llm_server:LLMServerClient.generate",
        ("request_id", "prompt_ids", "sampling_params"),
    ),
    Symbol(
        _LOOP + "AgentLoopBase",
        (
            *("trainer_config", "server_manager", "tokenizer", "processor", "dataset_cls"),
            "data_config",
        ),
    ),
    Symbol(_LOOP + "AgentLoopBase.run", ("sampling_params",)),
    Symbol(_LOOP + "AgentLoopMetrics"),
    Symbol("verl.utils.metric:Metric", ("aggregation", "value")),
    Symbol("verl.workers.utils.padding:no_padding_2_padding", ("tensor", "data")),
    Symbol("verl.utils.tracking:Tracking", ("project_name", "experiment_name", "default_backend")),
)
