"""Bytes of a model in training, counted before any weight is loaded.

The model is built on the device `meta`, which has shapes and no memory. A forward pass there keeps
the same tensors for the backward pass as on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AttentionInterface,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
)

from ragen_starpo.engine.adapters import ADAPTER, Kind, adapt
from ragen_starpo.engine.computing import Arithmetic, Device
from ragen_starpo.engine.output_layer import LOGITS_AT_ONCE, OutputLayer
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.recipes.run_sections import LoraSettings

_CLASSES: dict[Kind, Any] = {
    "language_model": AutoModelForCausalLM,
    "value_model": AutoModelForTokenClassification,
}
_FLOAT32 = 4
_BYTES = {"float32": _FLOAT32, "bfloat16": 2}
_GROUPED, _REPEATED = "ragen_grouped_shapes", "ragen_repeated_shapes"


@dataclass(frozen=True)
class ModelMemory:
    """Bytes of a model.

    Attributes:
        trained: The trained weights in float32; their gradients take as much, AdamW's two moments
            twice as much.
        saved: Tensors of a micro-batch that a backward pass keeps from its forward pass; 0 if the
            model's forward pass needs values, as that of a mixture of experts.
    """

    weights: int  # all weights in float32
    base: int  # the same without adapters
    state: int  # a copy of all weights without adapters in float32; tied ones count twice
    trained: int
    rounded: int  # a copy of all weights in the arithmetic's dtype; 0 in float32
    gathered: int  # embedding and two layers in the arithmetic's dtype, with gradients in float32
    saved: int
    layer: int  # `saved` of one layer
    stream: int  # the hidden states of a micro-batch between two layers
    output: int  # memory of the output layer's backward pass: a chunk of logits, and its gradient
    logits: int  # the logits of one token in float32
    cache: int  # keys and values of one token in float32

    def update(self, *, recomputes: bool) -> int:
        """Return the peak of a micro-batch's passes, above weights, optimiser and gradients.

        `recomputes` is verl's gradient checkpointing: only the hidden states between layers
        are kept, and each layer is computed again.
        """
        layers = self.saved // max(1, self.layer)
        kept = layers * self.stream + self.layer if recomputes else self.saved
        # The gradients of a layer's tensors, or the output layer's, whichever is more.
        return kept + max(self.layer, self.output)


def read_context(model_dir: Path) -> int | None:
    """Return the tokens of a model's context, if its configuration has them."""
    config = AutoConfig.from_pretrained(model_dir).get_text_config(decoder=True)
    context: int | None = getattr(config, "max_position_embeddings", None)
    return context


def has_windows(model_dir: Path) -> bool:
    """Return whether some layers of a model read the latest tokens alone."""
    config = AutoConfig.from_pretrained(model_dir).get_text_config(decoder=True)
    layers = getattr(config, "layer_types", None) or ()
    return any("sliding" in kind or "chunked" in kind for kind in layers)


def measure_model(
    kind: Kind,
    model_dir: Path,
    lora: LoraSettings | None,
    dtype: Arithmetic,
    shape: tuple[int, int],
    device: Device,
) -> ModelMemory:
    """Return the bytes of a model that learns from a micro-batch of (rows, tokens)."""
    config = AutoConfig.from_pretrained(model_dir)
    text = config.get_text_config(decoder=True)
    # Models without attention, as Mamba, have neither number.
    heads = getattr(text, "num_attention_heads", None)
    grouped = getattr(text, "num_key_value_heads", heads) != heads
    # See `ragen_starpo.engine.attention`.
    repeats = device == "cuda" and dtype == "float32" and grouped
    attention = _REPEATED if repeats else _GROUPED
    config = AutoConfig.from_pretrained(model_dir, attn_implementation=attention)
    with libraries_quiet(), torch.device("meta"):
        config.num_labels, auto_class = 1, _CLASSES[kind]
        module = auto_class.from_config(config, dtype=torch.float32)
        if lora is not None:
            module = adapt(module, lora, kind)
        weights = {name: weight.numel() for name, weight in module.named_parameters()}
        trained = {n: weights[n] for n, w in module.named_parameters() if w.requires_grad}
        own = {n: one.numel() for n, one in module.state_dict().items() if ADAPTER not in n}
        module.to(getattr(torch, dtype))
        try:
            saved, cache = _run_forward(kind, module, lora is not None, shape)
        except (AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError):
            saved = cache = 0
    tokens, vocabulary, size = shape[0] * shape[1], text.vocab_size, _BYTES[dtype]
    output = 0
    if kind == "language_model":
        chunk = min(tokens * vocabulary, LOGITS_AT_ONCE[device])
        # Logits and their gradient in float32, which is rounded for the products.
        output = chunk * (2 * _FLOAT32 + size % _FLOAT32)
        layer = module.get_output_embeddings()
        if layer.weight.requires_grad:
            # A sum in float32, rounded at the end.
            output += layer.weight.numel() * (_FLOAT32 + size % _FLOAT32)
    total, embedding = sum(weights.values()), vocabulary * text.hidden_size
    layers = text.num_hidden_layers
    return ModelMemory(
        weights=_FLOAT32 * total,
        base=_FLOAT32 * sum(n for name, n in weights.items() if ADAPTER not in name),
        state=_FLOAT32 * sum(own.values()),
        trained=_FLOAT32 * sum(trained.values()),
        rounded=size % _FLOAT32 * total,
        gathered=(embedding + 2 * (total - embedding) // layers) * (size + _FLOAT32),
        saved=saved,
        layer=saved // layers,
        stream=tokens * text.hidden_size * size,
        output=output,
        logits=_FLOAT32 * vocabulary,
        cache=cache * _FLOAT32 // size // tokens,
    )


def _run_forward(
    kind: Kind, module: Any, is_adapted: bool, shape: tuple[int, int]
) -> tuple[int, int]:
    """Return the bytes that a forward pass keeps besides the weights, and those of its cache."""
    known = {tensor.untyped_storage()._cdata for tensor in module.state_dict().values()}  # noqa: SLF001
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage()._cdata, tensor)  # noqa: SLF001
        return tensor

    ids = torch.zeros(shape, dtype=torch.int64)
    places = torch.arange(ids.numel())
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        if kind == "value_model":
            outputs = module(input_ids=ids, use_cache=False)
        else:
            layer = OutputLayer(module.get_base_model() if is_adapted else module)
            with layer.scoring(places, places, 1.0):
                outputs = module(input_ids=ids, use_cache=True)
                layer.read(outputs.logits)
    saved = [one.untyped_storage().nbytes() for place, one in kept.items() if place not in known]
    layers = getattr(outputs.get("past_key_values"), "layers", ())
    cached = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
    return sum(saved), sum(one.nbytes for one in cached if isinstance(one, Tensor))


class _Kept(torch.autograd.Function):
    """Outputs of an attention's shape, for which other tensors are kept."""

    @staticmethod
    def forward(context: Any, *kept: Tensor) -> Tensor:
        out = torch.empty_like(kept[0])
        context.save_for_backward(*kept, out)
        return out


def _attend(keep: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, None]]:
    def attend(
        _module: object, query: Tensor, key: Tensor, value: Tensor, *_: object, **_named: object
    ) -> tuple[Tensor, None]:
        apply: Callable[..., Tensor] = _Kept.apply
        out = apply(*keep(query, key, value))
        return out.transpose(1, 2).contiguous(), None

    return attend


def _keep_grouped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Return inputs of a fused kernel, and the logarithms of its sums."""
    return query, key, value, query.new_empty(query.shape[:3], dtype=torch.float32)


def _keep_repeated(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Return the same with a key and a value for each head of queries."""
    groups = query.shape[1] // key.shape[1]
    return _keep_grouped(query, *(one.repeat_interleave(groups, 1) for one in (key, value)))


AttentionInterface.register(_GROUPED, _attend(_keep_grouped))
AttentionInterface.register(_REPEATED, _attend(_keep_repeated))
