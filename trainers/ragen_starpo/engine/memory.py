"""An estimate of a run's memory, which is compared with the device's before the run starts."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragen_bench.errors import UserError, described
from ragen_bench.json_types import JsonObject
from ragen_bench.suites import env_id
from ragen_starpo.engine.computing import Device
from ragen_starpo.engine.device_memory import GIB
from ragen_starpo.engine.folders import check_folder
from ragen_starpo.engine.vllm_memory import fit_cache, vllm_memory
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.episodes import count_concurrent, training_env

if TYPE_CHECKING:
    from ragen_starpo.engine.adapters import Kind
    from ragen_starpo.engine.model_memory import ModelMemory
    from ragen_starpo.recipes.run_sections import LoraSettings

LOG = logging.getLogger("ragen_starpo.memory")
_PROMPT, _OBSERVATION = 400, 100
"""Assumed tokens of a first prompt, and of each further observation."""
_COLUMNS = 256
"""Keys and values grow by this many tokens; on a GPU the steps double, so that shapes recur."""
_FAILURES = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""Errors of models that transformers does not build as others."""
_SLOTS = 64
"""Concurrent episodes of a validation by `ragen-train local`."""
_PROCESSES, _A_RANK = int(1.8 * GIB), int(0.9 * GIB)
"""Memory of verl's processes on a host, measured, and of those of each training process."""
_SURE = 0.8
"""Fraction of the free memory that kept activations may fill; else they are computed again."""


@dataclass(frozen=True)
class Placement:
    """Where the models of a run are.

    Attributes:
        engine: Who samples: another copy of the model in the same process (`local`), or an engine
            of verl.
        recomputes: Whether activations are computed again (verl's gradient checkpointing); None to
            do so if they may not fit otherwise.
    """

    device: Device  # the device
    engine: Literal["local", "hf", "vllm"] = "local"
    ranks: int = 1  # training processes, which share the weights and optimisers
    here: int = 1  # those of them that share a memory: one on a GPU, all of a node on a CPU
    recomputes: bool | None = False
    gpu: int | None = None  # bytes of a GPU; None if they are not known
    requests: int | None = None  # that an engine answers at once; None for all
    cache: int | None = None  # bytes of vLLM's cache; None for what its fraction of the GPU leaves


@dataclass(frozen=True)
class Estimate:
    """Bytes of a memory that a run takes.

    Attributes:
        micro_batch: Rows and tokens per row of a micro-batch of the longest trajectories.
        cache: Bytes of vLLM's cache by which it takes its fraction of the GPU; None if they are
            not known, or the GPU has no room for it next to all models.
        measured: Whether activations are known, which some architectures do not show.
    """

    kept: Mapping[str, int]  # weights and optimisers by model, and what else is always there
    phases: Mapping[str, int]  # bytes on top of them in each phase; phases alternate
    certain: int  # bytes of weights, optimisers, gradients and vLLM, which need no assumption
    micro_batch: tuple[int, int]
    recomputes: bool = False
    cache: int | None = None
    measured: bool = True

    @property
    def total(self) -> int:
        """The estimated peak."""
        return sum(self.kept.values()) + max(self.phases.values())


def estimate_memory(
    recipe: Recipe, model_dir: Path, placement: Placement, available: int | None = None
) -> Estimate:
    """Return the memory that a run of a recipe takes.

    UserError if the folder has no model, or vLLM no room for a trajectory.

    The longest possible trajectories are assumed, with prompts and observations of usual
    lengths. CUDA's context, about half a GiB for each process, is not counted.
    """
    # Imports transformers' models, which takes seconds.
    from ragen_starpo.engine.model_memory import has_windows, read_context

    check_folder(model_dir)
    device, ranks, here = placement.device, placement.ranks, placement.here
    context = recipe.rollouts.context or read_context(model_dir)
    longest = _count_tokens(recipe, context)
    whole = longest if context is None or has_windows(model_dir) else context
    shape = _micro_batch(recipe, longest, ranks)
    models = _measure_models(recipe, model_dir, shape, device)
    policy = models["policy"]
    kept = {n: (one.weights + 2 * one.trained) * here // ranks for n, one in models.items()}
    is_local = placement.engine == "local"
    # verl leaves a reference on the host, and with adapters it is the model without them.
    if recipe.loss.kl and (is_local or (device == "cpu" and recipe.lora is None)):
        kept["reference"] = policy.base * here // ranks
    if placement.engine != "vllm":
        kept["sampling model"] = policy.base // _sampling_scale(recipe, placement) * here
    gradients = max(one.trained * here // ranks for one in models.values())
    phases = _rollouts(recipe, placement, policy, longest)
    engine = "vLLM" if placement.engine == "vllm" else "rollouts"
    if placement.engine == "vllm" and not recipe.cluster.sleep:
        kept[engine] = phases.pop(engine)
    certain = sum(kept.values()) + max(gradients, phases.get("vLLM", 0))
    cache = None
    if placement.engine == "vllm":
        cache = fit_cache(recipe, placement, policy, whole, shape)
        if available is not None and sum(kept.values()) + phases.get("vLLM", 0) > available:
            cache = None  # vLLM would find too little memory while the models load
    if recipe.cluster.ahead and engine in phases:
        kept[engine] = phases.pop(engine)
    if device == "cpu" and not is_local:
        kept["processes"] = _PROCESSES + _A_RANK * here
    room = 0 if available is None else int(_SURE * available) - sum(kept.values())
    recomputes = placement.recomputes
    if recomputes is None:
        recomputes = not _keeps_activations(models.values(), placement, room)
    measured = all(one.saved for one in models.values())
    phases = {"update": _update(models.values(), placement, recomputes=recomputes) * here, **phases}
    return Estimate(kept, phases, certain, shape, recomputes, cache, measured)


def _measure_models(
    recipe: Recipe, model_dir: Path, shape: tuple[int, int], device: Device
) -> dict[str, ModelMemory]:
    """Return the memory of the policy, and of the critic if there is one, by name."""
    from ragen_starpo.engine.model_memory import measure_model

    kinds: dict[str, tuple[Kind, LoraSettings | None]] = {"policy": ("language_model", recipe.lora)}
    if recipe.has_critic:
        kinds["critic"] = "value_model", recipe.critic_lora
    return {
        name: measure_model(kind, model_dir, lora, recipe.cluster.dtype, shape, device)
        for name, (kind, lora) in kinds.items()
    }


def _keeps_activations(models: Collection[ModelMemory], placement: Placement, room: int) -> bool:
    """Return whether an update that keeps all activations is known to have room."""
    needed = _update(models, placement, recomputes=False) * placement.here
    return all(one.saved for one in models) and needed <= room


def _update(models: Iterable[ModelMemory], placement: Placement, *, recomputes: bool) -> int:
    """Return the peak of a micro-batch in one training process."""
    is_local = placement.engine == "local"
    return max(
        one.trained // placement.ranks
        + one.update(recomputes=recomputes)
        # verl gathers the weights of a layer at a time.
        + (one.rounded if is_local else one.gathered)
        for one in models
    )


def check_memory(
    recipe: Recipe, model_dir: Path, placement: Placement, available: int | None
) -> JsonObject:
    """Return the estimate of a run's memory for its record.

    UserError if the certain part exceeds the available bytes; a warning if the estimate does. A
    model that cannot be estimated has the reason as its record: loading it says what is wrong.
    """
    try:
        estimate = estimate_memory(recipe, model_dir, placement, available)
    except UserError:
        raise
    except _FAILURES as error:
        return {"error": described(error)}
    record: JsonObject = {**asdict(estimate), "total": estimate.total, "available": available}
    if available is not None and estimate.total > available:
        record["advice"] = _advise_phase(recipe, estimate, placement)
        _report(recipe, estimate, placement, available)
    return record


def has_room_for_cache(record: JsonObject) -> bool:
    """Return whether the memory of rollouts may stay during updates, by the record of a run."""
    available = record.get("available")
    if available is None or not record["measured"]:
        return False
    return bool(record["total"] + record["phases"]["rollouts"] <= available)


def _report(recipe: Recipe, estimate: Estimate, placement: Placement, available: int) -> None:
    place = "the GPU" if placement.device == "cuda" else "this machine"
    parts = {**estimate.kept, **estimate.phases}
    listed = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items() if size)
    if estimate.certain > available:
        raise UserError(
            f"the model does not fit: weights, gradients, optimiser and engine take at least "
            f"{estimate.certain / GIB:.1f} GiB, and {place} has {available / GIB:.1f} free "
            f"({listed}); {_advise_models(recipe, placement)}"
        )
    LOG.warning(
        "an estimate of %.1f GiB exceeds the %.1f that %s has free (%s); if it gets full, %s",
        *(estimate.total / GIB, available / GIB, place, listed),
        _advise_phase(recipe, estimate, placement),
    )


def _sampling_scale(recipe: Recipe, placement: Placement) -> int:
    """Return the factor by which the engine's weights and cache are smaller than in float32."""
    is_float32 = placement.engine == "hf" or recipe.cluster.dtype == "float32"
    return 1 if is_float32 else 2


def _rollouts(
    recipe: Recipe, placement: Placement, policy: ModelMemory, longest: int
) -> dict[str, int]:
    here, is_local = placement.here, placement.engine == "local"
    played = recipe.rollouts.instances * recipe.rollouts.samples
    rows = -(-(played if is_local else count_concurrent(recipe)) * here // placement.ranks)
    if placement.requests is not None:
        rows = min(rows, placement.requests * here)
    if placement.engine == "vllm":
        return {"vLLM": vllm_memory(recipe, placement, policy, rows * longest)}
    scale = _sampling_scale(recipe, placement)
    columns = -(-longest // _COLUMNS) * _COLUMNS
    if placement.device == "cuda":
        from ragen_bench.models.hf.decoding import round_up

        columns = round_up(longest, _COLUMNS)
    # The sampler's probabilities have 64 bits.
    cache, logits = columns * policy.cache, 5 * policy.logits
    phases = {"rollouts": rows * (cache // scale + logits)}
    if is_local:
        phases["transfer"] = policy.state
        if recipe.validation.every:
            phases["validation"] = policy.base + min(rows, _SLOTS) * (cache + logits)
    elif placement.device == "cpu":
        # In the sender, and in Ray's store.
        phases["transfer"] = 2 * here * policy.state
    return phases


def _count_tokens(recipe: Recipe, context: int | None) -> int:
    """Return the tokens of the longest sequence that is learned from."""
    rollouts = recipe.rollouts
    turns = max(
        training_env(
            env_id(env), "train", recipe.response_format, recipe.environment
        ).budget.max_turns
        for env in recipe.envs
    )
    if rollouts.history is not None:
        turns = min(turns, rollouts.history + 1)
    tokens = _PROMPT + turns * (rollouts.max_tokens + _OBSERVATION)
    return min(tokens, context or tokens)


def _micro_batch(recipe: Recipe, longest: int, ranks: int) -> tuple[int, int]:
    most = max(1, recipe.mini_batch // ranks)
    if recipe.micro_batch_tokens is None:
        return min(recipe.micro_batch, most), longest
    rows = max(1, recipe.micro_batch_tokens // longest)
    if rows > most:
        return most, longest
    # Shorter trajectories fill a micro-batch.
    return rows, max(longest, recipe.micro_batch_tokens // rows)


def _advise_models(recipe: Recipe, placement: Placement) -> str:
    advice = []
    if recipe.lora is None:
        adapters = "lora.rank=64" + (" and lora.critic=true" if recipe.has_critic else "")
        advice.append(f"train adapters by {adapters}")
    elif recipe.has_critic and not recipe.lora.critic:
        advice.append("set lora.critic=true")
    if placement.engine == "vllm":
        advice.append("lower cluster.memory or vLLM's kv_cache_memory_bytes")
    if recipe.has_critic:
        advice.append("set an advantage.estimator without a critic, as grpo")
    if placement.engine != "local" and placement.device == "cuda":
        advice.append("raise cluster.processes")
    return ", ".join([*advice, "or choose a smaller model"])


def _advise_phase(recipe: Recipe, estimate: Estimate, placement: Placement) -> str:
    largest = max(estimate.phases, key=lambda name: estimate.phases[name])
    if largest == "update":
        size = "micro_batch" if recipe.micro_batch_tokens is None else "micro_batch_tokens"
        advice = f"lower {size}"
        if placement.device == "cuda" and recipe.cluster.dtype == "float32":
            advice += " or set cluster.dtype=bfloat16"
        return advice
    if largest == "rollouts":
        if placement.engine == "local":
            return "lower rollouts.context, rollouts.instances or rollouts.samples"
        return "lower rollouts.context or actor_rollout_ref.rollout.max_num_seqs"
    if largest == "vLLM":
        return "lower cluster.memory or vLLM's kv_cache_memory_bytes"
    return _advise_models(recipe, placement)
