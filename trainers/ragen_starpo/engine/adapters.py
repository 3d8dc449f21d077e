"""Low-rank adapters (LoRA, arXiv 2106.09685): the layers that get them, and the merged weights."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification
from transformers.pytorch_utils import Conv1D

from ragen_bench.errors import UserError, described
from ragen_starpo.engine.computing import device_here
from ragen_starpo.engine.folders import check_folder
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import LoraSettings

Kind: TypeAlias = Literal["language_model", "value_model"]
HEAD = "score"
"""transformers' name of a value head."""
_BASE, ADAPTER = ".base_layer.", ".lora_"
_PREFIX = "base_model.model."
_ADAPTABLE = (nn.Linear, nn.Embedding, Conv1D)


def adapt(module: Any, lora: LoraSettings, kind: Kind) -> Any:
    """Return a model with adapters; a critic's head has none and is trained in full.

    UserError if a target matches no layer, or a layer that has no adapters or shares its weights.
    """
    from peft import LoraConfig, get_peft_model

    is_critic = kind == "value_model"
    _check_targets(module, lora, is_critic)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=lora.targets,
        exclude_modules=[HEAD] if is_critic else None,
        task_type=None if is_critic else "CAUSAL_LM",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of layers that store their weights transposed
            adapted = get_peft_model(module, config)
    except ValueError as error:
        raise UserError(f"lora.target_modules: {described(error)}") from error
    _check_adapted(adapted)
    if is_critic:
        getattr(module, HEAD).requires_grad_(True)
    return adapted


def check_adapters(model_dir: Path, recipe: Recipe) -> None:
    """Raise UserError, before weights are loaded, if a recipe's adapters do not suit its model."""
    kinds: list[tuple[Kind, LoraSettings | None, Any]] = [
        ("language_model", recipe.lora, AutoModelForCausalLM),
        ("value_model", recipe.critic_lora, AutoModelForTokenClassification),
    ]
    for kind, lora, auto_class in kinds:
        if lora is None or (kind == "value_model" and not recipe.has_critic):
            continue
        check_folder(model_dir)
        try:
            with libraries_quiet(), torch.device("meta"):
                module = auto_class.from_config(AutoConfig.from_pretrained(model_dir))
        except (OSError, ValueError) as error:
            raise UserError(
                f"no model can be loaded from {str(model_dir)!r}: {described(error)}"
            ) from error
        with torch.device("meta"):
            adapt(module, lora, kind)


def merged_weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield copies of all weights by the model's own names, one full tensor at a time.

    Adapters are merged: W + B A alpha / rank (section 4.1). verl's own merge omits layers outside
    its FSDP units and returns bfloat16. All ranks of a sharded model, an engine's module with
    DTensors, must call it, since each tensor is gathered.
    """
    state = module.state_dict()
    for name, tensor in state.items():
        layer, base, kind = name.partition(_BASE)
        if ADAPTER in name:
            continue
        weight = _gather(tensor)
        if base and kind == "weight":
            weight += _compute_update(module.get_submodule(layer), layer, state)
        yield name.removeprefix(_PREFIX).replace(_BASE, "."), weight


def _compute_update(layer: Any, name: str, state: Mapping[str, Tensor]) -> Tensor:
    pattern = "{}.lora_{}.default.weight"
    is_embedding = isinstance(layer.get_base_layer(), nn.Embedding)
    if is_embedding:
        pattern = "{}.lora_embedding_{}.default"
    down, up = (_gather(state[pattern.format(name, half)]) for half in "AB")
    update: Tensor = up @ down * layer.scaling["default"]
    return update.t() if is_embedding or layer.fan_in_fan_out else update


def _gather(tensor: Tensor) -> Tensor:
    here = tensor.detach().to(device_here())
    return (here.full_tensor() if hasattr(here, "full_tensor") else here).clone()


def _check_targets(module: nn.Module, lora: LoraSettings, is_critic: bool) -> None:
    """Raise UserError if a target matches no layer, or one of a kind without adapters."""
    if lora.targets == lora.ALL:
        return
    layers = {name: layer for name, layer in module.named_modules() if name and name != HEAD}
    owners = _count_owners(module)
    shown = {
        name.rpartition(".")[2]: None
        for name, one in layers.items()
        if _is_adaptable(one) and owners[id(one.weight)] == 1
    }
    patterns = [lora.targets] if isinstance(lora.targets, str) else lora.targets
    matched: dict[str, nn.Module] = {}
    for pattern in patterns:
        found = _find_layers(layers, pattern, is_regex=isinstance(lora.targets, str))
        # A critic has no output layer, which the policy may adapt.
        if not found and not is_critic:
            raise UserError(
                f"lora.target_modules: {pattern} matches no layer of the model; name one or more "
                f"of {', '.join(shown)}, as a list"
            )
        matched |= found
    if not matched:
        raise UserError(
            f"lora.critic: no target matches a layer of the critic; name one of {', '.join(shown)}"
            " in lora.target_modules, or set lora.critic=false"
        )
    for name, layer in matched.items():
        if not _is_adaptable(layer):
            raise UserError(
                f"lora.target_modules: {name} is a {type(layer).__name__}, which cannot have "
                f"adapters; name one or more of {', '.join(shown)}, as a list"
            )


def _find_layers(
    layers: Mapping[str, nn.Module], pattern: str, *, is_regex: bool
) -> dict[str, nn.Module]:
    """Return the layers that PEFT matches: those of a name, or of a whole regular expression."""
    if not is_regex:
        return {n: one for n, one in layers.items() if f".{n}".endswith(f".{pattern}")}
    try:
        return {n: one for n, one in layers.items() if re.fullmatch(pattern, n)}
    except re.error as error:
        raise UserError(
            f"lora.target_modules: {pattern} is not a regular expression: {error}; give names as "
            "a list"
        ) from error


def _is_adaptable(layer: nn.Module) -> bool:
    """Return whether a layer is linear or an embedding, and computes as PEFT expects."""
    kind = next((kind for kind in _ADAPTABLE if isinstance(layer, kind)), None)
    # PEFT scales the update of an embedding with this attribute.
    is_scaled = isinstance(layer, nn.Embedding) and hasattr(layer, "embed_scale")
    return kind is not None and (type(layer).forward is kind.forward or is_scaled)


def _count_owners(module: nn.Module) -> Counter[int]:
    return Counter(id(weight) for _, weight in module.named_parameters(remove_duplicate=False))


def _check_adapted(module: Any) -> None:
    """Raise UserError if adapters cannot be merged: of other kinds, or of shared weights."""
    from peft.tuners.lora import Embedding, Linear, LoraLayer

    owners = _count_owners(module)
    for name, layer in module.named_modules():
        if not isinstance(layer, LoraLayer):
            continue
        own = name.removeprefix(_PREFIX)
        base: Any = layer.get_base_layer()
        if type(layer) not in (Linear, Embedding):
            raise UserError(
                f"lora.target_modules: {own} is a {type(base).__name__}, whose adapters cannot be "
                "merged; name other layers as a list, such as those of the attention"
            )
        if owners[id(base.weight)] > 1:
            raise UserError(
                f"lora.target_modules: {own} shares its weight with another layer, as tied input "
                "and output embeddings do, so its adapters cannot be merged; leave it out, or "
                "begin with a model whose config.json has tie_word_embeddings=false"
            )
