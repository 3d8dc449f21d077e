"""A model with its optimiser on one device, in plain PyTorch.

`ragen_starpo.cluster.engines` has the same models sharded over processes by verl. Tests hold both
to equal log-probabilities and gradients.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification

from ragen_bench.errors import UserError, described
from ragen_bench.reading import parse_json, read_bytes
from ragen_envs.core.folders import replacing_folder
from ragen_starpo.engine.adapters import HEAD, Kind, adapt, merged_weights
from ragen_starpo.engine.attention import padded_inputs, use_causal_attention
from ragen_starpo.engine.computing import DTYPES, Computing, device_here
from ragen_starpo.engine.folders import load_weights
from ragen_starpo.engine.micro_batches import MicroBatch
from ragen_starpo.engine.output_layer import OutputLayer
from ragen_starpo.engine.quiet import LOG, libraries_quiet
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings

PartLoss: TypeAlias = Callable[[Sequence[Tensor], MicroBatch], Tensor]
"""Takes outputs, each (rows, tokens), and their micro-batch; returns its part of the loss."""
HEAD_WEIGHTS = frozenset({f"{HEAD}.weight", f"{HEAD}.bias"})
_STATE, _TENSORS = "state.json", "tensors.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")
BAD_FILE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""Errors of a checkpoint whose values have other types, names, sizes or numbers."""


class Backend:
    """A policy, a reference or a critic; UserError if the model cannot be loaded.

    Weights, gradients and optimiser have float32. With bfloat16, forward and backward passes
    use rounded copies of the weights.
    """

    def __init__(
        self,
        kind: Kind,
        model_dir: Path,
        optimiser: OptimiserSettings | None,
        lora: LoraSettings | None,
        seed: int,
        computing: Computing,
    ) -> None:
        self.device = torch.device(device_here())
        try:
            with libraries_quiet(), isolate_rng():
                torch.manual_seed(seed)
                module = _load(kind, model_dir, lora, computing.attention)
        except (OSError, ValueError) as error:
            raise UserError(
                f"no model can be loaded from {str(model_dir)!r}: {described(error)}"
            ) from error
        self.module = module.to(self.device)
        self._output_layer = None
        if kind == "language_model":
            self._output_layer = OutputLayer(module.get_base_model() if lora else module)
        self._dtype = DTYPES[computing.dtype]
        self._weights = {n: w for n, w in module.named_parameters() if w.requires_grad}
        self._steps = 0
        if optimiser is not None:
            self._settings = optimiser
            self._optimiser = torch.optim.AdamW(
                self._weights.values(),
                betas=optimiser.betas,
                weight_decay=optimiser.weight_decay,
                fused=True,
            )

    def outputs(self, parts: Sequence[MicroBatch], temperature: float) -> list[tuple[Tensor, ...]]:
        """Return each part's outputs, (rows, tokens), without gradient.

        Those of a language model are log-probabilities and entropies, those of a critic values.
        """
        self.module.eval()
        with torch.no_grad():
            return [self._forward(part, temperature) for part in parts]

    def step(
        self, parts: Sequence[MicroBatch], loss: PartLoss, temperature: float
    ) -> dict[str, float]:
        """Take one step of the optimiser on the sum of the parts' losses.

        Returns `loss`, `grad_norm` before clipping, and `lr`, the learning rate of this step. No
        step is taken if the norm is not finite.
        """
        rate = learning_rate(self._settings, self._steps)
        total = self._backward(parts, loss, temperature)
        norm = torch.nn.utils.clip_grad_norm_(self._weights.values(), self._settings.clip_grad)
        if torch.isfinite(norm):
            self._optimiser.param_groups[0]["lr"] = rate
            self._optimiser.step()
        else:
            LOG.warning("grad_norm is not finite: %s; no step is taken", norm.item())
        self._optimiser.zero_grad()
        self._steps += 1
        return {"loss": total.item(), "grad_norm": norm.item(), "lr": rate}

    def gradient_norm(
        self, parts: Sequence[MicroBatch], loss: PartLoss, temperature: float
    ) -> float:
        """Return the norm of the gradient, without a step.

        Weights, optimiser and torch's random states, which dropout uses, do not change.
        """
        with isolate_rng():
            self._backward(parts, loss, temperature)
        gradients = [weight.grad for weight in self._weights.values() if weight.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item()
        self._optimiser.zero_grad()
        return norm

    def state(self) -> dict[str, Tensor]:
        """Return copies of the weights by the model's own names, adapters merged into them."""
        return dict(merged_weights(self.module))

    def save_checkpoint(self, folder: Path) -> None:
        """Write trained weights, optimiser and random states, atomically."""
        tensors = {f"weight/{name}": weight.detach() for name, weight in self._weights.items()}
        steps: dict[str, int] = {}
        for name, weight in self._weights.items():
            if found := self._optimiser.state.get(weight):
                tensors |= {f"{moment}/{name}": found[moment] for moment in _MOMENTS}
                steps[name] = int(found["step"])
        tensors["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state()
        state = {
            "steps": self._steps,
            "optimiser_steps": steps,
            "python": random.getstate(),
            "numpy": np.random.get_state(legacy=False),
        }
        with replacing_folder(folder) as draft:
            save_file({name: one.contiguous() for name, one in tensors.items()}, draft / _TENSORS)
            (draft / _STATE).write_text(json.dumps(state, default=np.ndarray.tolist), "utf-8")

    def load_checkpoint(self, folder: Path) -> None:
        """Restore a checkpoint and the global random states; see `Policy.load_checkpoint`."""
        for name in (_STATE, _TENSORS):
            if not (folder / name).is_file():
                raise UserError(f"no checkpoint in {str(folder)!r}: it has no {name}")
        try:
            state: Any = parse_json(read_bytes(folder / _STATE))
            tensors = load_file(folder / _TENSORS)
            if type(state["steps"]) is not int or state["steps"] < 0:
                raise ValueError(f"steps is {state['steps']!r}")
            weights = {n: tensors.pop(f"weight/{n}") for n in self._weights}
            if others := sorted(name for name in tensors if name.startswith("weight/")):
                raise ValueError(f"it also has {others[0].removeprefix('weight/')}")
            with torch.no_grad():
                for name, weight in self._weights.items():
                    weight.copy_(_check_shape(name, weights[name], weight))
            self._optimiser.state.clear()
            for name, weight in self._weights.items():
                if steps := state["optimiser_steps"].get(name):
                    moments = {
                        m: _check_shape(m, tensors[f"{m}/{name}"], weight).to(weight)
                        for m in _MOMENTS
                    }
                    count = torch.tensor(float(steps), device=self.device)
                    self._optimiser.state[weight] = {"step": count, **moments}
            self._steps = state["steps"]
            _set_random_states(state, tensors)
        except (*BAD_FILE, SafetensorError) as error:
            raise UserError(
                f"the checkpoint in {str(folder)!r} is not of this model and these settings: "
                f"{described(error)}"
            ) from error

    def _backward(self, parts: Sequence[MicroBatch], loss: PartLoss, temperature: float) -> Tensor:
        self.module.train()
        self._optimiser.zero_grad()  # of a step that an error ended
        total = torch.zeros((), device=self.device)
        for part in parts:
            of_part = loss(self._forward(part, temperature), part)
            of_part.backward()  # type: ignore[no-untyped-call]
            total += of_part.detach()
        return total

    def _forward(self, part: MicroBatch, temperature: float) -> tuple[Tensor, ...]:
        if self._output_layer is None:
            values = self._logits(part).flatten().index_select(0, part.places - 1)
            return (part.spread(values.float()),)
        with self._output_layer.scoring(part.places - 1, part.labels, temperature):
            scores = self._output_layer.read(self._logits(part))
        return tuple(map(part.spread, scores))

    def _logits(self, part: MicroBatch) -> Tensor:
        inputs = {**padded_inputs(part.ids), "use_cache": False}
        if self._dtype == torch.float32:
            logits: Tensor = self.module(**inputs).logits
            return logits
        rounded = {name: w.to(self._dtype) for name, w in self.module.named_parameters()}
        logits = torch.func.functional_call(self.module, rounded, kwargs=inputs).logits
        return logits


def learning_rate(settings: OptimiserSettings, step: int) -> float:
    """Return the rate of a step, counted from 0: a warm-up, then half a cosine or a constant."""
    if step < settings.warmup_steps:
        return settings.learning_rate * step / settings.warmup_steps
    if not settings.decay_steps:
        return settings.learning_rate
    done = (step - settings.warmup_steps) / max(1, settings.decay_steps - settings.warmup_steps)
    return settings.learning_rate * max(0.0, 0.5 + 0.5 * math.cos(math.pi * done))


def isolate_rng() -> AbstractContextManager[None]:
    """Return a context that restores the states of torch's generators at its end."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    return torch.random.fork_rng(devices)


def _load(kind: Kind, model_dir: Path, lora: LoraSettings | None, attention: str) -> Any:
    """Return a model with its adapters, whose new weights are drawn from torch's generator."""
    config = AutoConfig.from_pretrained(model_dir, attn_implementation=attention)
    if kind == "value_model":
        config.num_labels, config.classifier_dropout = 1, 0.0
        module = load_weights(AutoModelForTokenClassification, str(model_dir), config, HEAD_WEIGHTS)
    else:
        module = load_weights(AutoModelForCausalLM, str(model_dir), config, frozenset())
    use_causal_attention(module)
    return module if lora is None else adapt(module, lora, kind)


def _check_shape(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    """Return a tensor of a file, or raise ValueError if another has another shape."""
    if tensor.shape != like.shape or not tensor.is_floating_point():
        raise ValueError(f"{name} has the shape {list(tensor.shape)} and type {tensor.dtype}")
    return tensor


def _set_random_states(state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(tensors["random/cpu"])
    if torch.cuda.is_available() and "random/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random/cuda"])
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    numpy_state = state["numpy"]
    numpy_state["state"]["key"] = np.array(numpy_state["state"]["key"], dtype=np.uint32)
    np.random.set_state(numpy_state)
