"""Log-probabilities and entropies at a model's output layer, a chunk of its logits at a time.

All logits of 16,384 tokens and a vocabulary of 151,936 take 10 GB in float32, and a plain loss
holds several such tensors. Here the backward pass computes each chunk again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

LOGITS_AT_ONCE = {"cpu": 1 << 23, "cuda": 1 << 27, "meta": 1 << 62}
"""Logits of a chunk by type of device; small products leave a GPU idle."""
Temperature: TypeAlias = float | Tensor
"""Temperature of all tokens, or one for each, (tokens,)."""


class _LabelScores(torch.autograd.Function):
    """Log-probability of each token's label, and entropy of its distribution, as (tokens, 2)."""

    @staticmethod
    def forward(
        context: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        temperature: Temperature,
    ) -> Tensor:
        scores = hidden.new_empty((len(labels), 2), dtype=torch.float32)
        for chunk in _chunks(len(labels), weight):
            logits = _logits(hidden, weight, bias, temperature, chunk)
            normalised = torch.log_softmax(logits, dim=-1)
            scores[chunk, 0] = normalised.gather(-1, labels[chunk, None])[:, 0]
            scores[chunk, 1] = -torch.exp(normalised, out=logits).mul_(normalised).sum(-1)
            del logits, normalised  # before the next chunk's
        context.save_for_backward(hidden, weight, bias, labels, scores)
        context.temperature = temperature
        return scores

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, labels, scores = context.saved_tensors
        temperature = context.temperature
        needs_hidden, needs_weight, needs_bias = context.needs_input_grad[:3]
        of_hidden = torch.empty_like(hidden) if needs_hidden else None
        # Sums over many chunks need 32 bits.
        of_weight = torch.zeros_like(weight, dtype=torch.float32) if needs_weight else None
        of_bias = torch.zeros_like(bias, dtype=torch.float32) if needs_bias else None
        for chunk in _chunks(len(labels), weight):
            # d entropy / d logit = -p (log p + entropy); d log p(label) / d logit = [label] - p.
            of_log_prob, of_entropy = (slopes[0][chunk] / _column(temperature, chunk)).unbind(1)
            logits = _logits(hidden, weight, bias, temperature, chunk)
            normalised = torch.log_softmax(logits, dim=-1)
            constant = of_log_prob + of_entropy * scores[chunk, 1]
            probabilities = torch.exp(normalised, out=logits)
            gradient = torch.addcmul(
                -constant[:, None], normalised, -of_entropy[:, None], out=normalised
            ).mul_(probabilities)
            gradient.scatter_add_(1, labels[chunk, None], of_log_prob[:, None])
            rounded = gradient.to(hidden.dtype)
            if of_hidden is not None:
                of_hidden[chunk] = rounded @ weight.to(hidden.dtype)
            if of_weight is not None:
                _add_product(of_weight, rounded, hidden[chunk])
            if of_bias is not None:
                of_bias += gradient.sum(0)
            del logits, normalised, probabilities, gradient, rounded  # before the next chunk's
        return (
            of_hidden,
            None if of_weight is None else of_weight.to(weight.dtype),
            None if of_bias is None else of_bias.to(bias.dtype),
            None,
            None,
        )


def score_labels(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, temperature: Temperature
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities of labels and entropies in nats, both (tokens,) in float32.

    They belong to the softmax of (hidden weight^T + bias) / temperature. Products are in the
    dtype of `hidden`, (tokens, width); all else is in float32.
    """
    apply: Callable[..., Tensor] = _LabelScores.apply
    log_probs, entropies = apply(hidden, weight, bias, labels, temperature).unbind(1)
    return log_probs, entropies


class OutputLayer:
    """A model's output layer, which computes scores of labels instead of logits on request.

    A model may scale or cap the logits of its output layer, as Gemma and Granite do, or adapt
    the layer itself. Then all logits are computed and scored.
    """

    def __init__(self, model: Any) -> None:
        self._layer = model.get_output_embeddings()
        self._request: tuple[Tensor, Tensor, Temperature] | None = None
        self._is_last = type(self._layer) is nn.Linear and _returns_output_of(model, self._layer)
        if self._is_last:
            self._layer.forward = self._forward

    @contextmanager
    def scoring(self, places: Tensor, labels: Tensor, temperature: Temperature) -> Iterator[None]:
        """Let the model's forward pass return scores, for `read`, in a block.

        `places` are positions in the flattened (rows, tokens) of the inputs whose next token is
        `labels`, both (places,).
        """
        self._request = places, labels, temperature
        try:
            yield
        finally:
            self._request = None

    def read(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies from the model's `logits` in a scoring block."""
        if self._is_last:
            log_probs, entropies = logits.unbind(1)
            return log_probs, entropies
        assert self._request is not None
        places, labels, temperature = self._request
        chosen = logits.flatten(0, 1).index_select(0, places).float()
        chosen = chosen / (temperature[:, None] if isinstance(temperature, Tensor) else temperature)
        normalised = torch.log_softmax(chosen, dim=-1)
        log_probs = normalised.gather(-1, labels[:, None])[:, 0]
        return log_probs, -(normalised.exp() * normalised).sum(-1)

    def _forward(self, hidden: Tensor) -> Tensor:
        weight, bias = self._layer.weight, self._layer.bias
        if self._request is None:
            return nn.functional.linear(hidden, weight, bias)
        places, labels, temperature = self._request
        device = hidden.device.type
        if device != "meta" and torch.is_autocast_enabled(device):
            # The backward pass runs outside of autocast, and has to compute the same logits.
            hidden = hidden.to(torch.get_autocast_dtype(device))
        chosen = hidden.flatten(0, 1).index_select(0, places)
        return torch.stack(score_labels(chosen, weight, bias, labels, temperature), 1)


def _returns_output_of(model: Any, layer: nn.Linear) -> bool:
    """Return whether a model's logits are the very output of this layer.

    The backbone is replaced, so the weights may be on the device `meta`, as on most ranks.
    """
    backbone, outputs = getattr(model, model.base_model_prefix, None), []
    if backbone is None:
        return False
    ids = torch.zeros((1, 2), dtype=torch.int64, device=layer.weight.device)
    hidden = torch.zeros((1, 2, layer.in_features), device=layer.weight.device)
    handle = layer.register_forward_hook(lambda _layer, _inputs, output: outputs.append(output))
    backbone.forward = lambda *_, **_named: _BackboneOutput(hidden)
    try:
        with torch.no_grad():
            logits = model(input_ids=ids, use_cache=False).logits
    except (AttributeError, TypeError, RuntimeError):
        return False  # the model reads its backbone in another way; all logits are always right
    finally:
        del backbone.forward
        handle.remove()
    return len(outputs) == 1 and logits is outputs[0]


class _BackboneOutput:
    """The last hidden states of a backbone, and None for all other outputs."""

    def __init__(self, hidden: Tensor) -> None:
        self.last_hidden_state = hidden

    def __getattr__(self, _name: str) -> None:
        return None

    def __getitem__(self, _place: int) -> Tensor:
        return self.last_hidden_state


def _chunks(tokens: int, weight: Tensor) -> Iterator[slice]:
    size = max(1, LOGITS_AT_ONCE.get(weight.device.type, LOGITS_AT_ONCE["cpu"]) // len(weight))
    for start in range(0, tokens, size):
        yield slice(start, start + size)


def _logits(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, temperature: Temperature, chunk: slice
) -> Tensor:
    """Return the logits of a chunk in float32, in memory of their own."""
    logits = (hidden[chunk] @ weight.to(hidden.dtype).t()).float()
    if bias is not None:
        logits += bias
    if isinstance(temperature, float) and temperature == 1.0:
        return logits
    return logits.div_(_column(temperature, chunk))


def _column(temperature: Temperature, chunk: slice) -> Temperature:
    return temperature[chunk, None] if isinstance(temperature, Tensor) else temperature


def _add_product(total: Tensor, gradient: Tensor, hidden: Tensor) -> None:
    if gradient.dtype == total.dtype:
        total.addmm_(gradient.t(), hidden)
    else:
        total += gradient.t() @ hidden
