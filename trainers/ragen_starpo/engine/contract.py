"""Which parts of verl this engine stands on, and whether the installed verl still has them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ragen_bench.errors import UserError

WRITTEN_FOR = "0.9.1"
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
SYMBOLS = (
    Symbol(_ENGINE + "logprobs_from_logits", ("logits", "labels", "inplace_backward")),
    Symbol(
        _ENGINE + "FSDPEngineWithLMHead.prepare_model_outputs",
        ("output", "output_args", "micro_batch", "logits_processor_func"),
    ),
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
    Symbol("verl.utils.device:get_device_id"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_model_optimizer"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead.get_per_tensor_param"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_module"),
    Symbol(_ENGINE + "FSDPEngineWithLMHead._build_fsdp_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithLMHead.optimizer_step"),
    Symbol(_ENGINE + "FSDPEngineWithValueHead._build_module"),
    Symbol(_ENGINE + "FSDPEngineWithValueHead._build_fsdp_module", ("module",)),
    Symbol(_ENGINE + "FSDPEngineWithValueHead.optimizer_step"),
)


def check(symbols: Sequence[Symbol] | None = None) -> None:
    """Check that the installed verl has what is used of it.

    Args:
        symbols: what is used; None for what the engine is built on.

    Raises:
        UserError: naming the first place that has changed.
    """
    for change in changes(symbols):
        raise _misfit(change)


def check_platform(platform: type) -> None:
    """Check that a platform answers all that verl asks of one.

    Args:
        platform: a subclass of verl's `PlatformBase`.

    Raises:
        UserError: naming what it does not answer.
    """
    asked = sorted(getattr(platform, "__abstractmethods__", ()))
    if asked:
        raise _misfit(f"verl.plugin.platform:PlatformBase asks for {', '.join(asked)}")


def changes(symbols: Sequence[Symbol] | None = None) -> Iterator[str]:
    """Yield what has changed in verl, one line for each place.

    Args:
        symbols: what is used; None for what the engine is built on.
    """
    for symbol in SYMBOLS if symbols is None else symbols:
        change = _change(symbol)
        if change:
            yield f"{symbol.place} {change}"


def _misfit(change: str) -> UserError:
    return UserError(
        f"verl {version('verl')} does not fit, {WRITTEN_FOR} does: {change}; "
        f"pip install verl=={WRITTEN_FOR}"
    )


def _change(symbol: Symbol) -> str:
    try:
        parameters = inspect.signature(_found(symbol.place)).parameters
    except (ImportError, AttributeError):
        return "is gone"
    named = {name: one for name, one in parameters.items() if one.kind not in _VARIABLE}
    named.pop("self", None)
    lost = [name for name in symbol.used if name not in named]
    if lost:
        return f"no longer takes {', '.join(lost)}"
    needed = [name for name, one in named.items() if one.default is one.empty]
    added = [name for name in needed if name not in symbol.used]
    return f"now needs {', '.join(added)}" if added else ""


def _found(place: str) -> Any:
    module, _, names = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found
