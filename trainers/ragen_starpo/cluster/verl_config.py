"""Converts a recipe to verl's configuration, with the user's overrides."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict

from ragen_bench.errors import UserError, missing_extra
from ragen_starpo.cluster.names import HF_ENGINE
from ragen_starpo.cluster.placement import count_players, count_requests
from ragen_starpo.engine.computing import Device, computing_of
from ragen_starpo.recipes.recipe import Recipe

_STRATEGY = "fsdp2"
_ROUTER = "router.yaml"
_ROLLOUT, _ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
_MODEL, _REF = "actor_rollout_ref.model", "actor_rollout_ref.ref"
_VLLM = f"{_ROLLOUT}.engine_kwargs.vllm"
_STORAGE = "transfer_queue.backend.SimpleStorage.num_data_storage_units"
USERS = (
    *(f"trainer.{name}" for name in ("logger", "project_name", "experiment_name")),
    *(f"{_ROLLOUT}.{name}" for name in ("max_num_seqs", "agent.num_workers")),
    *(f"{_ROLLOUT}.{name}" for name in ("enforce_eager", "cudagraph_capture_sizes")),
    f"{_ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes",
    *(f"{_VLLM}.{name}" for name in ("attention_backend", "kv_cache_memory_bytes")),
    _STORAGE,
    *(
        f"{model}.{name}"
        for model in (_MODEL, "critic.model")
        for name in ("enable_gradient_checkpointing", "override_config.attn_implementation")
    ),
)
"""verl's settings that users may override; each one's effect is tested."""
_REPLACEMENTS = {
    "adv_estimator": "advantage.estimator",
    "norm_adv_by_std_in_grpo": "advantage.estimator=dr-grpo",
    "gamma": "advantage.gamma",
    "lam": "advantage.lam",
    "filter_groups": "filter.strategy and rollouts.refills",
    "rollout_is": "correction.level",
    "rollout_is_threshold": "correction.threshold",
    "rollout_rs": "correction.reject",
    "rollout_rs_threshold": "correction.reject_low and correction.reject_high",
    "loss_mode": "loss.policy",
    **dict.fromkeys(
        ("clip_cov_ratio", "clip_cov_lb", "clip_cov_ub", "kl_cov_ratio", "ppo_kl_coef"),
        "loss.settings",
    ),
    **dict.fromkeys(("kl_ctrl", "use_kl_in_reward", "use_kl_loss", "kl_loss_coef"), "loss.kl"),
    **dict.fromkeys(("kl_penalty", "kl_loss_type"), "loss.kl_estimator"),
    "clip_ratio": "loss.clip_low and loss.clip_high",
    "clip_ratio_low": "loss.clip_low",
    "clip_ratio_high": "loss.clip_high",
    "clip_ratio_c": "loss.dual_clip",
    "entropy_coeff": "loss.entropy",
    "loss_agg_mode": "loss.aggregation",
    "loss_scale_factor": "loss.horizon",
    "cliprange_value": "loss.value_clip",
    "overlong_buffer_cfg": "shaping.overlong_buffer",
    "max_resp_len": "rollouts.max_tokens",
    "ppo_epochs": "updates",
    "ppo_mini_batch_size": "mini_batch",
    "ppo_micro_batch_size_per_gpu": "micro_batch",
    "log_prob_micro_batch_size_per_gpu": "micro_batch",
    **dict.fromkeys(
        ("use_dynamic_bsz", "ppo_max_token_len_per_gpu", "log_prob_max_token_len_per_gpu"),
        "micro_batch_tokens",
    ),
    "use_remove_padding": "cluster.packing",
    "enable_prefix_caching": "cluster.prefix_caching",
    "free_cache_engine": "cluster.sleep",
    "enable_sleep_mode": "cluster.sleep",
    "train_batch_size": "rollouts.instances",
    "rollout.n": "rollouts.samples",
    "rollout.temperature": "rollouts.temperature",
    "response_length": "rollouts.max_tokens",
    "max_response_length": "rollouts.max_tokens",
    "max_model_len": "rollouts.context",
    "val_kwargs": "validation.temperature",
    "total_epochs": "iterations",
    "total_training_steps": "iterations",
    "save_freq": "checkpoint_every",
    "test_freq": "validation.every",
    "default_local_dir": "--out",
    "nnodes": "cluster.nodes",
    "n_gpus_per_node": "cluster.processes",
    "trainer.device": "cluster.device",
    "gpu_memory_utilization": "cluster.memory",
    "tensor_model_parallel_size": "cluster.tensor_parallel",
    "mixed_precision": "cluster.dtype",
    "rollout.dtype": "cluster.dtype",
    "lora_rank": "lora.rank",
    "lora_alpha": "lora.alpha",
    "target_modules": "lora.target_modules",
    "model.path": "model",
    "critic.optim": "critic",
    "optim": "optimiser",
    "rollout.name": "cluster.engine",
    "seed": "seed",
}
"""Settings of the recipe that replace verl's, by a part of verl's name."""


def verl_config(
    recipe: Recipe, model_dir: Path, device: Device, overrides: Sequence[str] = ()
) -> DictConfig:
    """Return a recipe's configuration of verl; UserError for an override without effect."""
    _check_overrides(overrides)
    attention = computing_of(recipe, device).attention
    config = _compose_config([*_default_overrides(recipe, device, attention), *overrides])
    with open_dict(config):
        for name, value in decided_by(recipe, model_dir, device).items():
            OmegaConf.update(config, name, value, merge=False)
    return config


def decided_by(recipe: Recipe, model_dir: Path, device: Device) -> dict[str, object]:
    """Return verl's settings that the recipe decides, by dotted name."""
    computing = computing_of(recipe, device)
    settings: dict[str, object] = {
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": "sync",
        "trainer.v1.sampler.custom_sampler.path": "pkg://ragen_starpo.cluster.group_sampler",
        "trainer.v1.sampler.custom_sampler.name": "GroupSampler",
        "trainer.v1.sampler.sampler_kwargs": asdict(recipe.filter),
        "trainer.total_training_steps": recipe.iterations,
        "trainer.device": device,
        "trainer.nnodes": recipe.cluster.nodes,
        "trainer.n_gpus_per_node": recipe.cluster.processes,
        "data.train_batch_size": recipe.rollouts.instances,
        f"{_ROLLOUT}.seed": recipe.seed,
        # verl would derive it from the name of one of its own estimators.
        "critic.enable": recipe.has_critic,
        # The KL term is in our loss; this setting makes verl load a reference.
        f"{_ACTOR}.use_kl_loss": bool(recipe.loss.kl),
        **_rollout_settings(recipe),
    }
    for place, engine in ((_ACTOR, "fsdp_config"), (_REF, "fsdp_config"), ("critic", "fsdp")):
        settings |= {
            f"{place}.strategy": _STRATEGY,
            f"{place}.{engine}.seed": recipe.seed,
            f"{place}.{engine}.model_dtype": "fp32",
            f"{place}.{engine}.mixed_precision": computing.mixed_precision,
        }
    for place, lora in ((_MODEL, recipe.lora), ("critic.model", recipe.critic_lora)):
        settings |= {
            f"{place}.path": str(model_dir),
            f"{place}.use_remove_padding": computing.packing,
            f"{place}.lora_rank": lora.rank if lora else 0,
        }
        if lora is not None:
            settings |= {
                f"{place}.lora_alpha": lora.alpha,
                # Weights are sent merged, so vLLM must not expect adapters.
                f"{place}.lora.merge": True,
                f"{place}.target_modules": lora.targets,
            }
    for place, optimiser in ((_ACTOR, recipe.optimiser), ("critic", recipe.critic)):
        settings |= {
            f"{place}.optim.lr": optimiser.learning_rate,
            f"{place}.optim.betas": list(optimiser.betas),
            f"{place}.optim.weight_decay": optimiser.weight_decay,
            f"{place}.optim.clip_grad": optimiser.clip_grad,
            f"{place}.optim.lr_warmup_steps": optimiser.warmup_steps,
            f"{place}.optim.lr_scheduler_type": "cosine" if optimiser.decay_steps else "constant",
            f"{place}.optim.total_training_steps": optimiser.decay_steps,
        }
    return settings


def _rollout_settings(recipe: Recipe) -> dict[str, object]:
    rollouts, cluster, micro = recipe.rollouts, recipe.cluster, recipe.micro_batch
    return {
        f"{_ROLLOUT}.name": cluster.engine,
        f"{_ROLLOUT}.n": rollouts.samples,
        f"{_ROLLOUT}.temperature": rollouts.temperature,
        f"{_ROLLOUT}.top_p": 1.0,
        f"{_ROLLOUT}.top_k": -1,
        f"{_ROLLOUT}.calculate_log_probs": True,
        # Log-probabilities after the temperature, as the policy computes them.
        f"{_ROLLOUT}.logprobs_mode": "processed_logprobs",
        f"{_ROLLOUT}.dtype": cluster.dtype,
        f"{_ROLLOUT}.max_model_len": rollouts.context,
        f"{_ROLLOUT}.response_length": rollouts.max_tokens,
        f"{_ROLLOUT}.val_kwargs.n": 1,
        f"{_ROLLOUT}.tensor_model_parallel_size": cluster.tensor_parallel,
        f"{_ROLLOUT}.gpu_memory_utilization": cluster.memory,
        f"{_ROLLOUT}.enable_prefix_caching": cluster.prefix_caching,
        # The first lets vLLM sleep, the second makes verl request it.
        f"{_ROLLOUT}.enable_sleep_mode": cluster.sleep,
        f"{_ROLLOUT}.free_cache_engine": cluster.sleep,
        f"{_ROLLOUT}.router_config_path": str(Path(__file__).with_name(_ROUTER)),
        # A maximum: the learner divides rows evenly, see `divide_rows`.
        f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu": micro,
        f"{_ACTOR}.ppo_micro_batch_size_per_gpu": micro,
        f"{_REF}.log_prob_micro_batch_size_per_gpu": micro,
        "critic.ppo_micro_batch_size_per_gpu": micro,
        # In groups. The learner forms mini-batches, and micro-batches by tokens.
        f"{_ACTOR}.ppo_mini_batch_size": 1,
        **{f"{place}.use_dynamic_bsz": False for place in (_ACTOR, "critic")},
    }


def _default_overrides(recipe: Recipe, device: Device, attention: str) -> list[str]:
    """Return defaults that differ from verl's, as hydra overrides that users may change."""
    # On one GPU vLLM's engine holds the model itself: another process would import all of it first.
    executor = "uni" if recipe.cluster.tensor_parallel == 1 else "mp"
    overrides = [
        # verl requires a name before the recipe's is set.
        f"{_ROLLOUT}.name={HF_ENGINE}",
        "trainer.logger=[]",
        # No reward is computed outside the environment.
        "reward.num_workers=0",
        # As few processes as are of use, since each imports PyTorch before it works.
        f"{_ROLLOUT}.agent.num_workers={count_players(recipe, os.cpu_count() or 1)}",
        f"{_ROLLOUT}.max_num_seqs={count_requests(recipe)}",
        f"{_STORAGE}=1",
        # verl leaves out what is null.
        f"+{_VLLM}.attention_backend=null",
        f"+{_VLLM}.kv_cache_memory_bytes=null",
        f"+{_VLLM}.distributed_executor_backend={executor}",
        f"+{_MODEL}.override_config.attn_implementation={attention}",
        f"+critic.model.override_config.attn_implementation={attention}",
        # No-sync keeps gradients where zero_grad does not reach, so after an error in a later
        # micro-batch they would leak into the next step.
        f"{_ACTOR}.fsdp_config.use_no_sync_for_gradient_accumulation=false",
        "critic.fsdp.use_no_sync_for_gradient_accumulation=false",
        # It compiles entropies of whole logits, which `PolicyEngine` never computes.
        *(
            f"{place}.use_torch_compile=false"
            for place in (_ACTOR, f"{_ACTOR}.fsdp_config", _REF, f"{_REF}.fsdp_config")
        ),
        "critic.fsdp.use_torch_compile=false",
    ]
    # On a GPU by the estimate of memory, see `fit_to_memory`.
    recomputes = {"cpu": "false", "cuda": "null"}[device]
    return overrides + [
        f"{model}.enable_gradient_checkpointing={recomputes}" for model in (_MODEL, "critic.model")
    ]


def _check_overrides(overrides: Sequence[str]) -> None:
    """Raise UserError for an override without effect, naming the setting to use."""
    parser = OverridesParser.create()
    for text in overrides:
        try:
            override = parser.parse_override(text)
        except HydraException as error:
            raise _override_error(error, text) from error
        name = override.get_key_element().lstrip("+~")
        if name in USERS and not override.is_delete():
            continue
        replacements = (
            f"the recipe's {ours}"
            for part, ours in _REPLACEMENTS.items()
            if f".{part}." in f".{name}."
        )
        settings = f"one of {', '.join(USERS)}, or a setting of the recipe"
        settings += " (see ragen-train recipes RECIPE)"
        raise UserError(
            f"{name} has no effect as a setting of verl; set {next(replacements, settings)}"
        )


def _compose_config(overrides: Sequence[str]) -> DictConfig:
    spec = importlib.util.find_spec("verl")
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra(ModuleNotFoundError(name="verl"), "train")
    directory = Path(spec.submodule_search_locations[0]) / "trainer" / "config"
    try:
        with initialize_config_dir(str(directory), version_base=None):
            return compose("ppo_trainer", overrides=list(overrides))
    except HydraException as error:
        raise _override_error(error, "") from error


def _override_error(error: HydraException, text: str) -> UserError:
    reason = str(error).splitlines()[0]
    place = f" in {json.dumps(text)}" if text and text not in reason else ""
    return UserError(
        f"invalid override of verl's configuration: {reason}{place}; ragen-train recipes RECIPE "
        "lists the recipe's settings, and verl's trainer/config/ppo_trainer.yaml those of verl"
    )
