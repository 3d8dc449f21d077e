"""Memory of an update with a large vocabulary, as a Markdown table. For Linux.

    python benchmarks/update_memory.py [--tokens 2048 8192]

A model of width 64 with 2 layers and the vocabulary of Qwen2.5, 151,936, learns from rows of 512
sampled tokens in one micro-batch, in float32. Each number of tokens and each way has a process of
its own. The benchmark counts by how much resident memory rises at most during an update, after a
small update with a learning rate of 0 has allocated the optimiser's moments.

- ragen: `Policy.update` of the local trainer.
- plain: all logits of the sampled tokens, torch's `log_softmax`, and entropies from it.

`copies` is the memory in float32 copies of all logits. The differences are the largest ones between
the two ways, of log-probabilities and of gradients.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM

from ragen_starpo.engine.model_memory import measure_model
from ragen_starpo.engine.worker import Policy
from ragen_starpo.recipes.run_sections import OptimiserSettings
from ragen_starpo.rollout.trajectory import Sampled, TokenBatch, TokenTrajectory, Turn, batch_of

VOCABULARY, ROW, SMALL = 151_936, 512, 4
OPTIMISER = OptimiserSettings(1e-3, warmup_steps=1)
Figures = tuple[int, Tensor, dict[str, Tensor]]
"""Bytes, log-probabilities of the sampled tokens, and gradients."""


def make_model(folder: Path) -> None:
    """Write a model of random weights."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)


def make_batch(tokens: int) -> TokenBatch:
    """Return rows with so many sampled tokens in all."""
    noise = torch.Generator().manual_seed(tokens)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, VOCABULARY, (count,), generator=noise).tolist())

    length = min(ROW, tokens)
    sampled = [Sampled(ids(length), (-12.0,) * length, True) for _ in range(tokens // length)]
    turns = [Turn((1,), one, 0.0) for one in sampled]
    return batch_of([TokenTrajectory(row, (turn,), {}) for row, turn in enumerate(turns)], pad=0)


def loss_of(log_probs: Tensor, entropies: Tensor, mask: Tensor) -> Tensor:
    """Return a loss with both kinds of gradients."""
    return -((log_probs + 0.01 * entropies) * mask).sum() / mask.sum()


def by_ragen(folder: Path, tokens: int) -> Figures:
    """Return the figures of `Policy.update`."""
    policy = Policy(folder, OPTIMISER, tokens)
    log_probs: list[Tensor] = []

    def update(batch: TokenBatch) -> None:
        def loss(said: Tensor, entropies: Tensor, columns: dict[str, Tensor]) -> object:
            log_probs[:] = [said.detach()[columns["mask"].bool()]]
            return loss_of(said, entropies, columns["mask"]), {}

        policy.update(batch, {}, loss)  # type: ignore[arg-type]

    weights = dict(policy._backend.module.named_parameters())  # noqa: SLF001
    gradients: dict[str, Tensor] = {}
    step = torch.optim.AdamW.step

    def recorded(self: torch.optim.AdamW, *given: object) -> object:
        gradients.update({name: weight.grad for name, weight in weights.items()})  # type: ignore[misc]
        return step(self, *given)  # type: ignore[arg-type]

    update(make_batch(SMALL))
    torch.optim.AdamW.step = recorded  # type: ignore[method-assign, assignment]
    taken = peak(lambda: update(make_batch(tokens)))
    return taken, log_probs[0], gradients


def by_plain_torch(folder: Path, tokens: int) -> Figures:
    """Return the figures of a loss on all logits."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), 0.0, fused=True)
    log_probs: list[Tensor] = []
    gradients: dict[str, Tensor] = {}

    def update(batch: TokenBatch) -> None:
        logits = model(input_ids=batch.ids, use_cache=False).logits[:, :-1]
        normalised = torch.log_softmax(logits, -1)
        said = normalised.gather(-1, batch.ids[:, 1:, None])[..., 0]
        entropies = -(normalised.exp() * normalised).sum(-1)
        loss_of(said, entropies, batch.mask[:, 1:]).backward()  # type: ignore[no-untyped-call]
        gradients.update({name: weight.grad for name, weight in model.named_parameters()})
        log_probs[:] = [said.detach().flatten()]
        optimiser.step()
        optimiser.zero_grad()

    update(make_batch(SMALL))
    taken = peak(lambda: update(make_batch(tokens)))
    return taken, log_probs[0], gradients


def peak(work: Callable[[], object]) -> int:
    """Return the bytes by which resident memory rose at most during the work."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is resident now
    before = _resident("VmRSS")
    work()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(way: Callable[[Path, int], Figures], folder: Path, tokens: int) -> Figures:
    """Return the figures of a way, from a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_alone, way, folder, tokens).result()


def _alone(way: Callable[[Path, int], Figures], folder: Path, tokens: int) -> Figures:
    torch.set_num_threads(1)
    return way(folder, tokens)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--plain-up-to", type=int, default=2048, help="tokens (default: 2048)")
    given = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("resident memory is read from /proc, which only Linux has")
    print(
        "| tokens | ragen, GB | copies | estimated, GB | plain, GB | copies "
        "| log-probabilities | gradients |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder)
        for tokens in given.tokens:
            copy = tokens * VOCABULARY * 4
            ours, said, gradients = measure(by_ragen, folder, tokens)
            shape = (max(1, tokens // ROW), min(ROW, tokens))
            model = measure_model("language_model", folder, None, "float32", shape, "cpu")
            estimated = model.trained + model.update(recomputes=False)
            row = f"| {tokens:,} | {ours / 1e9:.2f} | {ours / copy:.2f} | {estimated / 1e9:.2f} "
            if tokens <= given.plain_up_to:
                plain, expected, others = measure(by_plain_torch, folder, tokens)
                apart = max(float((gradients[n] - others[n]).abs().max()) for n in others)
                row += f"| {plain / 1e9:.2f} | {plain / copy:.2f} "
                row += f"| {float((said - expected).abs().max()):.1e} | {apart:.1e} |"
            else:
                row += "| | | | |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
