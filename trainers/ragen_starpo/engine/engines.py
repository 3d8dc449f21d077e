"""verl's FSDP engines on a CPU or a GPU, with their defects put right.

Import `ragen_starpo.engine.platform` and call `prepare` first: verl reads the device on import.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch
from peft import LoraConfig, get_peft_model
from tensordict import NonTensorData, TensorDict
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, AutoModelForTokenClassification
from verl.utils.device import get_device_name, get_vendor
from verl.utils.fsdp_utils import get_init_weight_context_manager
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.engine.fsdp.transformer_impl import (
    FSDPEngineWithLMHead,
    FSDPEngineWithValueHead,
)

from ragen_bench.errors import UserError
from ragen_starpo.engine.loading import load_weights
from ragen_starpo.engine.log_probs import log_probs_of
from ragen_starpo.engine.merging import merged_weights
from ragen_starpo.engine.quiet import prints_logged

STRATEGY = "fsdp2"
_VERL: Any = transformer_impl
"""The module where verl's engine looks its functions up."""
_HEAD = "score"
"""transformers' name of a value head."""
_SUPPORTED = {
    "model_dtype": "fp32",
    "trust_remote_code": False,
    "use_fused_kernels": False,
    "use_liger": False,
}
"""Settings of verl's models and engines that have only this value here."""


def draws_apart() -> AbstractContextManager[None]:
    """Return a context whose draws, by torch's generators here, do not change those after it."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    return torch.random.fork_rng(devices)


class _Local:
    """What both engines do differently from verl's.

    Attributes:
        auto_class: of transformers, that loads the model.
        new: weights that a folder need not have.
        measures: whether a step is measured and not taken.
    """

    auto_class: ClassVar[Any]
    new: ClassVar[frozenset[str]] = frozenset()
    measures = False

    engine_config: Any
    model_config: Any
    device_mesh: Any
    module: Any
    optimizer: Any

    def initialize(self) -> None:
        """Build all of it, and check that rows can be packed where they are to be.

        Raises:
            UserError: if they cannot.
        """
        super().initialize()  # type: ignore[misc]
        if self.model_config.use_remove_padding:
            self._check_packing()

    def _build_model_optimizer(self) -> None:
        """Build all of it, so that what is drawn anew follows from the configured seed.

        verl has no seed for it: adapters and the value head are those of torch's generator.
        """
        with draws_apart():
            torch.manual_seed(self.engine_config.seed)
            super()._build_model_optimizer()  # type: ignore[misc]

    def get_per_tensor_param(self, **_: Any) -> Any:
        """Return all weights for the engine that samples, adapters merged, see `merged_weights`."""
        return merged_weights(self.module), None

    def _build_module(self) -> Any:
        """Load the model with the attention that its configuration names; as verl, once a mesh.

        Defects of verl 0.9.1: `load_valuehead_model` asks for flash-attention whatever is
        configured, so no critic loads without that package; for policies, weights that a folder
        lacks are random without an error, see `load_weights`; and models without
        `num_key_value_heads`, as GPT-2, are refused. What else verl's method does is for settings
        that are refused here.

        Raises:
            UserError: for one of them.
        """
        self._check_settings()
        config = self.model_config.hf_config
        # Only the first process needs the weights, which verl sends to the others; tied ones would
        # come apart.
        tied = getattr(config, "tie_word_embeddings", True)
        with get_init_weight_context_manager(not tied, self.device_mesh)():
            module = load_weights(self.auto_class, self.model_config.local_path, config, self.new)
        if self.model_config.enable_gradient_checkpointing:
            module.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )
        return module

    def _check_packing(self) -> None:
        """Check that what is said of a row is the same whatever is packed before it.

        Layers that carry a state from token to token, as of Mamba, do not ask for position ids.

        Raises:
            UserError: if it is not.
        """
        of_second_rows = []
        with self.eval_mode():  # type: ignore[attr-defined]
            for token in (0, 1):
                outputs = self.infer_batch(_two_rows(token))["model_output"]  # type: ignore[attr-defined]
                # Of its first token; after its last one there is none to speak of.
                of_second_rows += [rows.unbind()[1][0] for rows in outputs.values()]
        if not torch.equal(*of_second_rows):
            raise UserError(
                f"models of the type {self.module.config.model_type!r} mix rows that are packed "
                "into one; set cluster.packing=off"
            )

    def _check_settings(self) -> None:
        for name, supported in _SUPPORTED.items():
            place = self.model_config if hasattr(self.model_config, name) else self.engine_config
            value = getattr(place, name)
            if value != supported:
                raise UserError(
                    f"verl's setting {name}={value} is not supported; leave it at {supported}"
                )

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
        """Take a step, and log rather than print that a gradient was not finite.

        Where a step is only measured, return the norm of the gradient, and drop the gradient.
        """
        if self.measures:
            gradients = [part.grad for part in self.module.parameters() if part.grad is not None]
            total = torch.nn.utils.get_total_norm(gradients)
            self.optimizer.zero_grad()
            return float(total.full_tensor() if isinstance(total, DTensor) else total)
        with prints_logged():
            norm: float = super().optimizer_step()  # type: ignore[misc]
        return norm


class PolicyEngine(_Local, FSDPEngineWithLMHead):  # type: ignore[misc]
    """A language model."""

    auto_class = AutoModelForCausalLM

    def prepare_model_outputs(self, *given: Any, **named: Any) -> Any:
        """Compute log-probabilities and entropies of a micro-batch.

        Defect of verl 0.9.1: without flash-attention it normalises the logits of one token after
        the other, which takes half of a small model's update.
        """
        theirs, _VERL.logprobs_from_logits = _VERL.logprobs_from_logits, log_probs_of
        try:
            return super().prepare_model_outputs(*given, **named)
        finally:
            _VERL.logprobs_from_logits = theirs


class ValueEngine(_Local, FSDPEngineWithValueHead):  # type: ignore[misc]
    """A language model with one value at each token in place of its output layer."""

    auto_class = AutoModelForTokenClassification
    new = frozenset({f"{_HEAD}.weight", f"{_HEAD}.bias"})

    def _build_module(self) -> Any:
        """Load the backbone, with a new value head and no dropout beside it."""
        self.model_config.hf_config.num_labels = 1
        self.model_config.hf_config.classifier_dropout = 0.0
        return super()._build_module()

    def _build_lora_module(self, module: Any) -> Any:
        """Adapt the backbone, and train the head in full.

        Defect of verl 0.9.1: it wraps a critic as a model that generates, which fails, and with
        `all-linear` it would freeze the head as it was drawn and adapt that.
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


def _two_rows(token: int) -> TensorDict:
    """Return two rows of two tokens; the first row repeats a token, the second is the same."""
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


def register() -> None:
    """Tell verl's registry of these engines; with a vendor they come before verl's own."""
    where = {"backend": STRATEGY, "device": get_device_name(), "vendor": get_vendor()}
    EngineRegistry.register(model_type="language_model", **where)(PolicyEngine)
    EngineRegistry.register(model_type="value_model", **where)(ValueEngine)


register()
