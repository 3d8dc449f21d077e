"""verl's FSDP engines on a CPU or a GPU, with fixes for defects of verl 0.9.1.

Call `ragen_starpo.engine.platform.prepare` before importing this module: verl reads the device on
import.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch
from peft import LoraConfig, get_peft_model
from tensordict import NonTensorData, TensorDict
from torch import Tensor
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, AutoModelForTokenClassification
from verl.utils.device import get_device_id, get_device_name, get_vendor
from verl.utils.fsdp_utils import get_init_weight_context_manager
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.engine.fsdp.transformer_impl import (
    FSDPEngineWithLMHead,
    FSDPEngineWithValueHead,
)

from ragen_bench.errors import UserError
from ragen_starpo.engine.folders import load_weights
from ragen_starpo.engine.quiet import prints_logged

STRATEGY = "fsdp2"
_VERL: Any = transformer_impl
"""Module in which verl's engine looks up its functions."""
_BASE, _ADAPTER = ".base_layer.", ".lora_"
_HEAD = "score"
"""transformers' name of a value head."""
_SUPPORTED = {
    "model_dtype": "fp32",
    "trust_remote_code": False,
    "use_fused_kernels": False,
    "use_liger": False,
}
"""Settings of verl's models and engines that must keep these values."""
_AT_ONCE = 1 << 24
"""Logits that are normalised at once, which bounds extra memory."""


def merged_weights(module: torch.nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield copies of all weights by the model's own names, one full tensor at a time.

    Adapters are merged: W + B A alpha / rank (LoRA, arXiv 2106.09685, section 4.1). verl's own
    merge omits layers outside its FSDP units and returns bfloat16. All ranks of a sharded
    model, an engine's module with DTensors, must call it, since each tensor is gathered.
    """
    state = module.state_dict()
    adapters = getattr(module, "peft_config", None)
    scale = adapters["default"].lora_alpha / adapters["default"].r if adapters else 0.0
    for name, tensor in state.items():
        layer, base, kind = name.partition(_BASE)
        if _ADAPTER in name:
            continue
        weight = _gather(tensor)
        if base and kind == "weight":
            down, up = (_gather(state[f"{layer}.lora_{half}.default.weight"]) for half in "AB")
            weight += up @ down * scale
        yield name.removeprefix("base_model.model.").replace(_BASE, "."), weight


def _gather(tensor: Tensor) -> Tensor:
    """Return a copy on the engine's device, gathered from its shards."""
    here = tensor.detach().to(get_device_id())
    return (here.full_tensor() if hasattr(here, "full_tensor") else here).clone()


def isolate_rng() -> AbstractContextManager[None]:
    """Return a context that restores the states of torch's generators at its end."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    return torch.random.fork_rng(devices)


class _EngineFixes:
    """Changes to verl's engines that policies and critics share.

    A folder need not have the weights in `new`. With `skips_step`, a step only computes the
    gradient's norm.
    """

    auto_class: ClassVar[Any]
    new: ClassVar[frozenset[str]] = frozenset()
    skips_step = False

    engine_config: Any
    model_config: Any
    device_mesh: Any
    module: Any
    optimizer: Any

    def initialize(self) -> None:
        """Build the model; UserError if its rows will be packed and it mixes them."""
        super().initialize()  # type: ignore[misc]
        if not self.model_config.use_remove_padding:
            return
        # A row's outputs must not depend on the row before it. Layers that carry a state from token
        # to token, as Mamba's, ignore position ids.
        outputs_of_second_rows = []
        with self.eval_mode():  # type: ignore[attr-defined]
            for token in (0, 1):
                outputs = self.infer_batch(_two_rows(token))["model_output"]  # type: ignore[attr-defined]
                # The output at the last token predicts nothing, so compare the first token's.
                outputs_of_second_rows += [rows.unbind()[1][0] for rows in outputs.values()]
        if not torch.equal(*outputs_of_second_rows):
            raise UserError(
                f"models of the type {self.module.config.model_type!r} mix rows that are packed "
                "into one; set cluster.packing=off"
            )

    def _build_model_optimizer(self) -> None:
        """Draw adapters and value head from a seed; verl uses torch's global generator."""
        with isolate_rng():
            torch.manual_seed(self.engine_config.seed)
            super()._build_model_optimizer()  # type: ignore[misc]

    def get_per_tensor_param(self, **_: object) -> tuple[Iterator[tuple[str, Tensor]], None]:
        """Return all weights for the sampling engine, with adapters merged."""
        return merged_weights(self.module), None

    def _build_module(self) -> Any:
        """Load the model with the attention implementation of its configuration.

        Defects of verl 0.9.1: `load_valuehead_model` always asks for flash-attention, so no
        critic loads without that package. Weights that a policy's folder lacks are random
        without an error, see `load_weights`. Models without `num_key_value_heads`, as
        GPT-2, are refused.
        """
        for name, supported in _SUPPORTED.items():
            place = self.model_config if hasattr(self.model_config, name) else self.engine_config
            value = getattr(place, name)
            if value != supported:
                raise UserError(
                    f"verl's setting {name}={value} is not supported; leave it at {supported}"
                )
        config = self.model_config.hf_config
        # Only rank 0 needs the weights, which verl sends to the others; but that would untie
        # tied ones.
        tied = getattr(config, "tie_word_embeddings", True)
        with get_init_weight_context_manager(not tied, self.device_mesh)():
            module = load_weights(self.auto_class, self.model_config.local_path, config, self.new)
        if self.model_config.enable_gradient_checkpointing:
            module.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )
        return module

    def _build_fsdp_module(self, module: Any) -> Any:
        """Wrap the model, without offloading it from a CPU to a CPU.

        Defect of verl 0.9.1: a model that is not trained is always given an offload policy with
        pinned memory, which a host without accelerator does not have.
        """
        forward_only = self.engine_config.forward_only
        self.engine_config.forward_only = forward_only and get_device_name() != "cpu"
        try:
            return super()._build_fsdp_module(module)  # type: ignore[misc]
        finally:
            self.engine_config.forward_only = forward_only

    def optimizer_step(self) -> float:
        """Take a step and return the gradient's norm; with `skips_step`, drop the gradient."""
        if self.skips_step:
            gradients = [part.grad for part in self.module.parameters() if part.grad is not None]
            total = torch.nn.utils.get_total_norm(gradients)
            self.optimizer.zero_grad()
            return float(total.full_tensor() if isinstance(total, DTensor) else total)
        with prints_logged():
            norm: float = super().optimizer_step()  # type: ignore[misc]
        return norm


class PolicyEngine(_EngineFixes, FSDPEngineWithLMHead):  # type: ignore[misc]
    """A language model."""

    auto_class = AutoModelForCausalLM

    def prepare_model_outputs(self, *given: object, **named: object) -> dict[str, Tensor]:
        """Compute log-probabilities and entropies of a micro-batch.

        Defect of verl 0.9.1: without flash-attention it normalises logits token by token, which
        takes half of a small model's update.
        """
        original, _VERL.logprobs_from_logits = _VERL.logprobs_from_logits, compute_log_probs
        try:
            outputs: dict[str, Tensor] = super().prepare_model_outputs(*given, **named)
            return outputs
        finally:
            _VERL.logprobs_from_logits = original


class ValueEngine(_EngineFixes, FSDPEngineWithValueHead):  # type: ignore[misc]
    """A language model whose output layer is replaced by a value head."""

    auto_class = AutoModelForTokenClassification
    new = frozenset({f"{_HEAD}.weight", f"{_HEAD}.bias"})

    def _build_module(self) -> Any:
        """Load the backbone, with a new value head and no dropout before it."""
        self.model_config.hf_config.num_labels = 1
        self.model_config.hf_config.classifier_dropout = 0.0
        return super()._build_module()

    def _build_lora_module(self, module: Any) -> Any:
        """Adapt the backbone, and train the head in full.

        Defect of verl 0.9.1: it wraps a critic as a generating model, which fails. With
        `all-linear` it would also freeze the new head and adapt it.
        """
        model = self.model_config
        module.enable_input_require_grads()  # for gradient checkpointing behind frozen embeddings
        adapters = LoraConfig(
            r=model.lora_rank,
            lora_alpha=model.lora_alpha,
            target_modules=model.target_modules,
            exclude_modules=[_HEAD],
        )
        adapted = get_peft_model(module, adapters)
        getattr(module, _HEAD).requires_grad_(True)
        return adapted


def compute_log_probs(
    logits: Tensor,
    labels: Tensor,
    inplace_backward: bool = False,  # noqa: ARG001 - verl's name
) -> Tensor:
    """Return the log-probability of each label, normalising many rows of logits at once."""
    rows = max(1, _AT_ONCE // logits.shape[-1])
    # Half precision is too coarse for a sum over a vocabulary.
    norms = torch.cat([torch.logsumexp(part.float(), dim=-1) for part in torch.split(logits, rows)])
    return logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1) - norms


def _two_rows(token: int) -> TensorDict:
    """Return a row that repeats the token, and a second row that does not depend on it."""
    ids = torch.tensor([[token, token], [0, 1]])
    places = torch.arange(2).expand(2, 2).clone()
    return TensorDict(
        {
            "input_ids": torch.nested.as_nested_tensor(ids, layout=torch.jagged),
            "position_ids": torch.nested.as_nested_tensor(places, layout=torch.jagged),
            "loss_mask": torch.ones(2, 2),
            "temperature": NonTensorData(1.0),
            "use_dynamic_bsz": NonTensorData(False),
            "micro_batch_size_per_gpu": NonTensorData(2),
        },
        batch_size=[2],
    )


# verl prefers engines with a vendor to its own.
_WHERE = {"backend": STRATEGY, "device": get_device_name(), "vendor": get_vendor()}
EngineRegistry.register(model_type="language_model", **_WHERE)(PolicyEngine)
EngineRegistry.register(model_type="value_model", **_WHERE)(ValueEngine)
