"""The parts of verl that the trainer stands on, and what has changed in the installed one."""

import importlib
import inspect
from dataclasses import dataclass

_VARIABLE = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


@dataclass(frozen=True)
class Symbol:
    """A function or class of verl.

    Attributes:
        place: its module and its name in it, with a colon between.
        used: the parameters that are given to it, or that its override here has; `self` is not
            counted.
    """

    place: str
    used: tuple[str, ...] = ()


_ENGINE = "verl.workers.engine.fsdp.transformer_impl:"
_WORKER = "verl.workers.engine_workers:TrainingWorker"
_CONFIG = "verl.workers.config:"
ENGINE_SYMBOLS = (
    Symbol("verl.plugin.platform:PlatformRegistry.register", ("platform",)),
    Symbol("verl.plugin.platform:set_platform", ("platform",)),
    Symbol("verl.plugin.platform:get_platform"),
    Symbol("verl.plugin.platform:PlatformBase"),
    Symbol("verl.utils.device:get_device_name"),
    Symbol("verl.utils.device:get_vendor"),
    Symbol("verl.utils.tensordict_utils:assign_non_tensor", ("tensor_dict",)),
    Symbol("verl.utils.tensordict_utils:get", ("tensordict", "key")),
    Symbol("verl.trainer.config:CheckpointConfig"),
    Symbol(
        _CONFIG + "FSDPEngineConfig",
        (
            *("strategy", "forward_only", "mixed_precision", "use_torch_compile"),
            *("use_no_sync_for_gradient_accumulation", "seed"),
        ),
    ),
    Symbol(
        _CONFIG + "FSDPOptimizerConfig",
        (
            *("lr", "betas", "weight_decay", "clip_grad"),
            *("lr_warmup_steps", "lr_scheduler_type", "total_training_steps"),
        ),
    ),
    Symbol(
        _CONFIG + "HFModelConfig",
        (
            *("path", "load_tokenizer", "override_config", "use_remove_padding"),
            *("enable_gradient_checkpointing", "lora_rank", "lora_alpha", "target_modules"),
        ),
    ),
    Symbol(
        _CONFIG + "TrainingWorkerConfig",
        ("model_type", "model_config", "engine_config", "optimizer_config", "checkpoint_config"),
    ),
    Symbol(_WORKER, ("config",)),
    Symbol(_WORKER + ".reset"),
    Symbol(_WORKER + ".set_loss_fn", ("loss_fn",)),
    Symbol(_WORKER + ".infer_batch", ("data",)),
    Symbol(_WORKER + ".train_batch", ("data",)),
    Symbol(_WORKER + ".save_checkpoint", ("local_path",)),
    Symbol(_WORKER + ".load_checkpoint", ("local_path",)),
    Symbol(
        "verl.workers.engine:EngineRegistry.register",
        ("model_type", "backend", "device", "vendor"),
    ),
    Symbol("verl.models.transformers.dense_common:CausalLMOutputForPPO", ("log_probs", "entropy")),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_model_optimizer"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead.get_per_tensor_param"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_module"),
    Symbol("verl.utils.fsdp_utils:get_init_weight_context_manager", ("use_meta_tensor", "mesh")),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_lora_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_fsdp_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithLMHead.prepare_model_inputs", ("micro_batch",)),
    Symbol(_ENGINE + "FSDPEngineWithLMHead.optimizer_step"),
    Symbol(_ENGINE + "FSDPEngineWithValueHead._build_module"),
    Symbol(_ENGINE + "FSDPEngineWithValueHead._build_lora_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithValueHead._build_fsdp_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithValueHead.optimizer_step"),
)

_TRAINER = "verl.trainer.ppo.v1.trainer_base:PPOTrainer"
_BUFFER = "verl.trainer.ppo.v1.replay_buffer:ReplayBuffer"
_WORKERS = "verl.workers.engine_workers:"
_REPLICA = "verl.workers.rollout.replica:"
CLUSTER_SYMBOLS = (
    Symbol("verl.trainer.ppo.v1.trainer_sync:PPOTrainerSync", ("config",)),
    Symbol(_TRAINER + ".init"),
    Symbol(_TRAINER + ".fit", ("agent_loop_manager",)),
    Symbol(_TRAINER + "._init_dataloader"),
    Symbol(_TRAINER + "._init_resource_pool_mgr"),
    Symbol(_TRAINER + "._load_checkpoint"),
    Symbol("verl.utils.tensordict_utils:list_of_dict_to_tensordict", ("list_of_dicts",)),
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
    Symbol(_WORKERS + "ActorRolloutRefWorker", ("config", "role")),
    Symbol(_WORKERS + "ActorRolloutRefWorker.set_loss_fn", ("loss_fn",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.compute_log_prob", ("data",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.compute_ref_log_prob", ("data",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.update_actor", ("data",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.save_checkpoint", ("local_path",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.load_checkpoint", ("local_path",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.actor_worker_cls", ("config",)),
    Symbol(_WORKERS + "ActorRolloutRefWorker.ref_worker_cls", ("config",)),
    Symbol(_WORKERS + "TrainingWorker.train_mini_batch", ("data",)),
    Symbol("verl.single_controller.base.decorator:register", ("dispatch_mode",)),
    Symbol("verl.workers.rollout.base:get_rollout_class", ("rollout_name",)),
    Symbol("verl.workers.rollout.base:BaseRollout.update_weights", ("weights", "wire_format")),
    Symbol("verl.workers.rollout.base:BaseRollout.resume", ("tags",)),
    Symbol("verl.workers.rollout.base:BaseRollout.release"),
    Symbol(_REPLICA + "RolloutReplicaRegistry.register", ("name", "loader")),
    Symbol(_REPLICA + "RolloutReplica", ("replica_rank", "config", "model_config")),
    Symbol(_REPLICA + "RolloutReplica.launch_servers"),
    Symbol(_REPLICA + "RolloutReplica.sleep"),
    Symbol("verl.utils.metric:Metric", ("aggregation", "value")),
    Symbol("verl.workers.utils.padding:no_padding_2_padding", ("tensor", "data")),
    Symbol("verl.utils.tracking:Tracking", ("project_name", "experiment_name", "default_backend")),
)


def changes(symbols):
    """Return what has changed in verl, one line for each place."""
    found = []
    for symbol in symbols:
        change = _change(symbol)
        if change:
            found.append(f"{symbol.place} {change}")
    return found


def _change(symbol):
    try:
        parameters = inspect.signature(_found(symbol.place)).parameters
    except (ImportError, AttributeError):
        return "is gone"
    named = {
        name: parameter for name, parameter in parameters.items() if parameter.kind not in _VARIABLE
    }
    named.pop("self", None)
    lost = [name for name in symbol.used if name not in named]
    if lost:
        return f"no longer takes {', '.join(lost)}"
    needed = [name for name, parameter in named.items() if parameter.default is parameter.empty]
    added = [name for name in needed if name not in symbol.used]
    return f"now needs {', '.join(added)}" if added else ""


def _found(place):
    module, _, names = place.partition(":")
    found = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found
