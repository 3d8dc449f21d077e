"""Updates and sampling of models with random weights on one device, as a Markdown table.

    python benchmarks/one_device.py                        # on a GPU, in two minutes
    python benchmarks/one_device.py --model tiny           # on a CPU, to see that it runs
    python benchmarks/one_device.py --model 0.5B --dtype bfloat16 --tokens 16384

- update: `Policy.update` of the local trainer, or of its critic, on trajectories of three turns
  with 200 sampled tokens each (26M: four turns of 60). It is the fastest of three after one to warm
  up. Tokens are all tokens of the trajectories. TFLOP/s counts 6 operations for each trained weight
  and token and 4 for each frozen one, those of attention, and for a policy 8 for each weight of the
  output layer and sampled token (6 if it is frozen), which is computed twice.
- sampling: `Decoder` on 128 conversations with prompts of 300 tokens and answers of 200, by graphs
  of kernels where the device has them.
- GB is the peak of the device's memory, and in brackets the estimate that a run begins with.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import load
from ragen_envs.core.instances import RandomStream
from ragen_starpo.engine.adapters import Kind
from ragen_starpo.engine.computing import Computing, device_here
from ragen_starpo.engine.model_memory import measure_model
from ragen_starpo.engine.worker import Contribution, Critic, Policy
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from ragen_starpo.rollout.trajectory import Sampled, TokenBatch, TokenTrajectory, Turn, batch_of
from ragen_starpo.small_model import Shape as SmallShape
from ragen_starpo.small_model import make_small_model

DEVICE = device_here()
_KINDS: dict[type[Policy] | type[Critic], Kind] = {
    Policy: "language_model",
    Critic: "value_model",
}
EMPTY: Any = {}


@dataclass(frozen=True)
class Shape:
    """A Qwen2 model, and the trajectories that it learns from."""

    width: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    rows: int
    turns: int
    prompt: int
    answer: int


SHAPES = {
    "tiny": Shape(64, 96, 2, 2, 2, 2048, 4, 2, 20, 10),
    "26M": Shape(512, 1536, 8, 8, 8, 2048, 256, 4, 120, 60),
    "0.5B": Shape(896, 4864, 24, 14, 2, 151_936, 64, 3, 300, 200),
    "3B": Shape(2048, 11008, 36, 16, 2, 151_936, 32, 3, 300, 200),
}


def make_model(folder: Path, shape: Shape) -> int:
    """Write a model with the small model's tokenizer, and return its number of weights."""
    make_small_model(folder, SmallShape(), 0)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model: Any = Qwen2ForCausalLM(  # type: ignore[no-untyped-call]
            Qwen2Config(
                vocab_size=shape.vocabulary,
                hidden_size=shape.width,
                intermediate_size=shape.hidden,
                num_hidden_layers=shape.layers,
                num_attention_heads=shape.heads,
                num_key_value_heads=shape.kv_heads,
                max_position_embeddings=4096,
                tie_word_embeddings=True,
            )
        ).bfloat16()
    model.save_pretrained(folder)
    return sum(weight.numel() for weight in model.parameters())


def make_batch(shape: Shape) -> TokenBatch:
    """Return trajectories; every second one has a turn less."""
    noise = torch.Generator().manual_seed(1)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(1, shape.vocabulary, (count,), generator=noise).tolist())

    def turn(number: int) -> Turn:
        answer = Sampled(ids(shape.answer), (-11.0,) * shape.answer, True)
        return Turn(ids(shape.prompt if number == 0 else shape.prompt // 4), answer, 0.1)

    trajectories = [
        TokenTrajectory(row, tuple(turn(number) for number in range(shape.turns - row % 2)), EMPTY)
        for row in range(shape.rows)
    ]
    return batch_of(trajectories, pad=0)


def count_flops(
    shape: Shape, weights: int, adapters: int, batch: TokenBatch, *, has_output: bool
) -> float:
    """Return the floating-point operations of an update of a model.

    Args:
        shape: The model's shape.
        weights: Number of its weights, without adapters.
        adapters: Number of the adapters' weights; 0 to train all of the model's.
        batch: What it learns from.
        has_output: Whether it computes logits, as a policy does.
    """
    lengths = batch.attention.sum(1).double()
    output = shape.vocabulary * shape.width
    passes = (4 if adapters else 6) * (weights - output) + 6 * adapters
    attention = 6 * shape.layers * shape.width * float(lengths.square().sum())
    logits = (6 if adapters else 8) * output * float(batch.mask.sum()) if has_output else 0.0
    return passes * float(lengths.sum()) + attention + logits


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds until the device has done the work."""
    begin = time.perf_counter()
    work()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def policy_loss(log_probs: Tensor, entropies: Tensor, columns: dict[str, Tensor]) -> Contribution:
    """Return a loss with gradients of both outputs."""
    return -((log_probs + 0.001 * entropies) * columns["mask"]).mean(), {}


def value_loss(values: Tensor, columns: dict[str, Tensor]) -> Contribution:
    """Return squared distances from 1."""
    return ((values - 1) * columns["mask"]).square().mean(), {}


def measure_updates(name: str, folder: Path, weights: int, given: argparse.Namespace) -> None:
    """Print a row for the policy, and one for the critic."""
    shape, optimiser = SHAPES[name], OptimiserSettings(1e-5)
    batch, lora = make_batch(shape), LoraSettings(64, 64) if name == "3B" else None
    tokens = int(batch.attention.sum())
    for kind in (Policy, Critic):
        forget_peak()
        computing = Computing(given.tokens, dtype=given.dtype)
        model = kind(folder, optimiser, len(batch), lora, computing=computing)

        def update(model: Policy | Critic = model) -> object:
            if isinstance(model, Policy):
                return model.update(batch, {}, policy_loss)  # type: ignore[arg-type]
            return model.update(batch, {}, value_loss)  # type: ignore[arg-type]

        update()
        seconds = min(seconds_of(update) for _ in range(3))
        what = f"{kind.__name__.lower()}{' with adapters' if lora else ''}"
        report(name, given.dtype, f"update of a {what}, {given.tokens} tokens", tokens / seconds)
        longest = int(batch.attention.sum(1).max())
        rows = min(len(batch), max(1, given.tokens // longest))
        found = measure_model(_KINDS[kind], folder, lora, given.dtype, (rows, longest), DEVICE)
        adapters = found.trained // 4 if lora else 0
        flops = count_flops(shape, weights, adapters, batch, has_output=kind is Policy)
        memory = found.weights + 3 * found.trained + found.rounded
        memory += found.update(recomputes=False)
        print(f"| {flops / seconds / 1e12:.1f} | {peak()} ({memory / 1e9:.1f}) |", flush=True)
        del model


def measure_sampling(name: str, folder: Path, given: argparse.Namespace) -> None:
    """Print a row for answers of 128 conversations."""
    forget_peak()
    rows, prompt, answer = (8, 20, 19) if name == "tiny" else (128, 300, 200)
    loaded = load(str(folder))
    loaded.model.to(getattr(torch, given.dtype))
    sampling = Sampling(1.0, answer, "", 0)
    noise = torch.Generator().manual_seed(2)
    prompts = torch.randint(1, SHAPES[name].vocabulary, (rows, prompt), generator=noise).tolist()
    decoder = Decoder(loaded, sampling, rows, log_probs=True)
    sampled = 0

    def sample() -> None:
        nonlocal sampled
        sampled, ended = 0, 0
        for row, ids in enumerate(prompts):
            decoder.submit(ids, RandomStream("benchmark", 0, str(row)))
        while ended < rows:
            found = decoder.collect()
            ended += len(found)
            sampled += sum(len(one.ids) for one in found)

    sample()
    seconds = seconds_of(sample)
    report(name, given.dtype, f"sampling, {rows} conversations", sampled / seconds)
    print(f"| | {peak()} |", flush=True)


def report(name: str, dtype: str, what: str, speed: float) -> None:
    """Print the first cells of a row."""
    print(f"| {name} | {dtype} | {what} | {speed:,.0f} ", end="", flush=True)


def forget_peak() -> None:
    """Begin to look for the peak of memory anew."""
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak() -> str:
    """Return the peak of memory in GB."""
    return f"{torch.cuda.max_memory_allocated() / 1e9:.1f}" if DEVICE == "cuda" else ""


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", action="append", choices=SHAPES, help="(default: 26M, 0.5B)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--tokens", type=int, default=16_384, help="of a micro-batch")
    given = parser.parse_args(arguments)
    print("| model | arithmetic | what | tokens/s | TFLOP/s | GB |")
    print("| --- | --- | --- | ---: | ---: | ---: |", flush=True)
    for name in given.model or ("26M", "0.5B"):
        with tempfile.TemporaryDirectory() as place:
            weights = make_model(Path(place), SHAPES[name])
            measure_updates(name, Path(place), weights, given)
            measure_sampling(name, Path(place), given)


if __name__ == "__main__":
    main()
