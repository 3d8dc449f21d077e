"""verl's FSDP engines on a CPU or a GPU, with fixes for defects of verl 0.9.1.

verl's platform is chosen before this module is imported: verl reads the device on import.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from tensordict import NonTensorData, TensorDict
from torch import Tensor
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, AutoModelForTokenClassification
from verl.utils import tensordict_utils
from verl.utils.device import get_device_name, get_vendor
from verl.utils.fsdp_utils import get_init_weight_context_manager
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import (
    FSDPEngineWithLMHead,
    FSDPEngineWithValueHead,
)

from ragen_bench.errors import UserError, described
from ragen_starpo.cluster.passes import ModelRows, Passes
from ragen_starpo.cluster.ray_session import environment
from ragen_starpo.engine.adapters import Kind, adapt, merged_weights
from ragen_starpo.engine.attention import use_causal_attention
from ragen_starpo.engine.backend import BAD_FILE, HEAD_WEIGHTS, isolate_rng
from ragen_starpo.engine.folders import load_weights
from ragen_starpo.engine.output_layer import OutputLayer
from ragen_starpo.engine.quiet import prints_logged
from ragen_starpo.recipes.run_sections import LoraSettings

STRATEGY = "fsdp2"
_SUPPORTED = {
    "model_dtype": "fp32",
    "trust_remote_code": False,
    "use_fused_kernels": False,
    "use_liger": False,
}
"""Settings of verl's models and engines that must keep these values."""
_PARTS = ("model", "optim", "extra_state")
"""Files of a checkpoint, of each process."""
_WEIGHTS_ONLY = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "0"}
_ARRAYS: list[Any] = [
    *(np.ndarray, np.dtype, type(np.dtype("uint32"))),
    np.empty(0).__reduce__()[0],  # NumPy's function that makes an array, wherever it is
]
"""Types of NumPy's random state, in addition to PyTorch's own types."""


class _EngineFixes(Passes):
    """Changes to verl's engines that policies and critics share.

    A folder need not have the weights in `new`. With `skips_step`, a step only computes the
    gradient's norm.
    """

    auto_class: ClassVar[Any]
    kind: ClassVar[Kind]
    new: ClassVar[frozenset[str]] = frozenset()
    skips_step = False

    engine_config: Any
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
                outputs_of_second_rows.append(outputs[self.outputs[0]].unbind()[1][0])
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

    def load_checkpoint(self, local_path: str, *given: Any, **named: Any) -> None:
        """Read verl's files as data; UserError if they are missing, name code or do not fit.

        verl would unpickle them, and so run any code in them.
        """
        ranks, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        for part in _PARTS:
            file = Path(local_path) / f"{part}_world_size_{ranks}_rank_{rank}.pt"
            if not file.is_file():
                raise UserError(f"there is no file {file}; choose another --out")
        try:
            with environment(_WEIGHTS_ONLY), torch.serialization.safe_globals(_ARRAYS):
                super().load_checkpoint(local_path, *given, **named)  # type: ignore[misc]
        except pickle.UnpicklingError as error:
            raise UserError(
                f"the checkpoint in {local_path!r} names code, which is not run, or is torn; "
                "choose another --out"
            ) from error
        except BAD_FILE as error:
            raise UserError(
                f"the checkpoint in {local_path!r} is not of this model and these settings: "
                f"{described(error)}; choose another --out"
            ) from error

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
        use_causal_attention(module)
        if self.model_config.enable_gradient_checkpointing:
            module.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )
        return module

    def _build_lora_module(self, module: Any) -> Any:
        """Add the adapters of `ragen_starpo.engine.adapters`.

        Defect of verl 0.9.1: it wraps a critic as a generating model, which fails. With
        `all-linear` it would also freeze the new head and adapt it.
        """
        model = self.model_config
        module.enable_input_require_grads()  # for gradient checkpointing behind frozen embeddings
        names = model.target_modules
        targets = names if isinstance(names, str) else tuple(names)
        return adapt(module, LoraSettings(model.lora_rank, model.lora_alpha, targets), self.kind)

    def _build_fsdp_module(self, module: Any) -> Any:
        """Wrap the model, without offloading it from a CPU to a CPU.

        Defects of verl 0.9.1: a model that is not trained is always given an offload policy with
        pinned memory, which a host without accelerator does not have. Embeddings are sharded on
        their own if they are not tied, which torch refuses if they have adapters.
        """
        forward_only, config = self.engine_config.forward_only, module.config
        tied = config.tie_word_embeddings
        embeddings = module.get_input_embeddings(), module.get_output_embeddings()
        self.engine_config.forward_only = forward_only and get_device_name() != "cpu"
        config.tie_word_embeddings = tied or any(hasattr(one, "base_layer") for one in embeddings)
        try:
            return super()._build_fsdp_module(module)  # type: ignore[misc]
        finally:
            self.engine_config.forward_only = forward_only
            config.tie_word_embeddings = tied

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
    """A language model, whose logits are not all in memory if `OutputLayer` can avoid it."""

    auto_class, kind = AutoModelForCausalLM, "language_model"
    outputs = ("log_probs", "entropy")

    def _build_fsdp_module(self, module: Any) -> Any:
        """Let the output layer score labels, before its weights are sharded."""
        self._layer = OutputLayer(
            module.get_base_model() if hasattr(module, "peft_config") else module
        )
        return super()._build_fsdp_module(module)

    def score(self, rows: ModelRows, temperature: float) -> tuple[Tensor, ...]:
        """Return log-probabilities and entropies of sampled tokens, (sampled,)."""
        with self._layer.scoring(rows.places, rows.labels, temperature):
            return self._layer.read(self.module(**rows.inputs, use_cache=False).logits)


class ValueEngine(_EngineFixes, FSDPEngineWithValueHead):  # type: ignore[misc]
    """A language model whose output layer is replaced by a value head."""

    auto_class, kind = AutoModelForTokenClassification, "value_model"
    outputs, new = ("values",), HEAD_WEIGHTS

    def _build_module(self) -> Any:
        """Load the backbone, with a new value head and no dropout before it."""
        self.model_config.hf_config.num_labels = 1
        self.model_config.hf_config.classifier_dropout = 0.0
        return super()._build_module()

    def score(self, rows: ModelRows, temperature: float) -> tuple[Tensor, ...]:  # noqa: ARG002
        """Return values before the sampled tokens, (sampled,)."""
        values = self.module(**rows.inputs, use_cache=False).logits.flatten()
        return (values.index_select(0, rows.places).float(),)


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


def compute_outputs(worker: Any, data: TensorDict) -> TensorDict:
    """Return jagged outputs of a verl `TrainingWorker`, without gradient."""
    tensordict_utils.assign_non_tensor(data, compute_loss=False)
    return worker.infer_batch(data)


def compute_gradient_norm(worker: Any, data: TensorDict, loss: Callable[..., object]) -> float:
    """Return the norm of a loss's gradient without taking a step.

    Weights, optimiser, schedule and torch's random states, which dropout uses, do not change.
    The worker has an engine of `ragen_starpo.cluster.engines`.
    """
    previous, worker.loss_fn, worker.engine.skips_step = worker.loss_fn, loss, True
    try:
        with isolate_rng():
            output = worker.train_batch(data)
    finally:
        worker.loss_fn, worker.engine.skips_step = previous, False
    return float(tensordict_utils.get(output, "metrics")["grad_norm"])


# verl prefers engines with a vendor to its own.
_WHERE = {"backend": STRATEGY, "device": get_device_name(), "vendor": get_vendor()}
EngineRegistry.register(model_type="language_model", **_WHERE)(PolicyEngine)
EngineRegistry.register(model_type="value_model", **_WHERE)(ValueEngine)
