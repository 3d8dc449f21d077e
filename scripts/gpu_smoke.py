"""Trains a little on the device that is there, and writes down how fast and how exactly.

    python scripts/gpu_smoke.py --out smoke                # the shape of Qwen2.5-0.5B, on a GPU
    python scripts/gpu_smoke.py --out smoke --shape tiny   # the same on two cores, in seconds

It plays rollouts, learns from them and gives the weights back to who plays, by the same parts as
`ragen-train local`, and times each. The weights are random, since a host without a network has no
others and speed does not depend on them; `--model DIR` takes real ones. A random model hardly ever
ends an answer, so all are as long as they may be, the heaviest load of these settings. None of them
earns more than another, so every second trajectory is called good, the others bad.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from gpu_smoke_measures import (
    commit_here,
    device,
    matmul_speed,
    peak_of,
    timed,
    training_flops,
    version,
)
from gpu_smoke_page import page
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from ragen_bench.errors import UserError
from ragen_starpo.algorithms.objective import policy_contribution
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.engine.weights import token_weights
from ragen_starpo.engine.worker import Policy
from ragen_starpo.local.actor import Actor
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.rollout.trajectory import TokenBatch, batch_of
from ragen_starpo.small_model import Shape as SmallShape
from ragen_starpo.small_model import make_small_model

CHATML = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """A model's size and what is played with it.

    Attributes:
        width, hidden, layers, heads, kv_heads: of a Qwen2 model.
        vocabulary: entries; 0 for as many as its tokenizer has.
        instances, samples, max_tokens, micro_batch: as in a recipe.
    """

    width: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    instances: int
    samples: int
    max_tokens: int
    micro_batch: int


SHAPES = {
    "qwen2.5-0.5b": Shape(896, 4864, 24, 14, 2, 151936, 8, 16, 200, 4),
    "tiny": Shape(32, 48, 2, 2, 1, 0, 2, 2, 8, 2),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the smoke, and write smoke.json and smoke.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="of the results")
    parser.add_argument("--shape", choices=SHAPES, default="qwen2.5-0.5b", help="of the model")
    parser.add_argument("--model", type=Path, metavar="DIR", help="real weights of that shape")
    parser.add_argument("--iterations", type=int, default=3, metavar="N", help="(default: 3)")
    parser.add_argument("--commit", metavar="HASH", help="where there is no git to ask")
    given = parser.parse_args(arguments)
    try:
        found = smoke(given, arguments if arguments is not None else sys.argv[1:])
    except UserError as error:
        sys.stderr.write(f"gpu_smoke: {error}\n")
        return error.exit_code
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "smoke.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.out / "smoke.md").write_text(page(found), encoding="utf-8")
    sys.stdout.write(page(found))
    return 0


def smoke(given: argparse.Namespace, arguments: list[str]) -> dict[str, Any]:
    """Return what was seen, by name."""
    if not torch.cuda.is_available() and given.shape != "tiny":
        raise UserError("torch finds no GPU here; --shape tiny runs on a CPU")
    shape = SHAPES[given.shape]
    commit = given.commit or commit_here()
    with tempfile.TemporaryDirectory() as folder:
        with libraries_quiet():
            place = given.model or made_model(Path(folder), shape)
        run = Run(place, recipe_for(place, shape))
        iterations = [run.iteration(number) for number in range(given.iterations)]
    return {
        "device": device(),
        "software": {name: version(name) for name in ("torch", "transformers", "verl")},
        "command": "gpu_smoke.py " + " ".join(arguments),
        "commit": commit,
        "weights": str(given.model) if given.model else "random",
        "parameters": run.parameters,
        "dtype": "float32",
        "matmul": matmul_speed(),
        "peak": peak_of(device()["name"]),
        "memory": torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
        "moved": run.moved(),
        "iterations": iterations,
    }


class Run:
    """The parts of a trainer, each of which is timed.

    Args:
        place: folder of the model.
        recipe: of the run.
    """

    def __init__(self, place: Path, recipe: Recipe) -> None:
        self._recipe = recipe
        self._actor = Actor(place, recipe)
        self._policy = Policy(place, recipe.optimiser, recipe.micro_batch, seed=recipe.seed)
        self._first = self._policy.state_for_rollout()
        self.parameters = sum(
            weight.numel() for weight in self._policy.state_for_rollout().values()
        )
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        if config.get("tie_word_embeddings"):
            self.parameters -= config["vocab_size"] * config["hidden_size"]
        self._config = config

    def iteration(self, number: int) -> dict[str, float]:
        """Play, learn and hand over; return counts, seconds and how well the engines agree."""
        temperature = self._recipe.rollouts.temperature
        played, rollouts = timed(lambda: self._actor.rollouts(number, temperature))
        batch = batch_of(played, self._actor.pad)
        again, scoring = timed(lambda: self._policy.log_probs(batch, temperature)[0])
        apart = (again - batch.log_probs)[batch.mask.bool()].abs().max()
        found, update = timed(lambda: self._update(batch))
        state, _ = timed(self._policy.state_for_rollout)
        _, weights = timed(lambda: self._actor.take(state))
        positions = int(batch.attention.sum())
        return {
            "generated": int(batch.mask.sum()),
            "positions": positions,
            "longest": batch.ids.shape[1],
            "rollouts": rollouts,
            "scoring": scoring,
            "update": update,
            "weights": weights,
            "training_flops": training_flops(self.parameters, self._config, batch.attention),
            "log_probs_apart": float(apart),
            "loss": found["loss"],
            "grad_norm": found["grad_norm"],
        }

    def moved(self) -> float:
        """Return the largest change of a weight."""
        now = self._policy.state_for_rollout()
        return max(float((now[name] - was).abs().max()) for name, was in self._first.items())

    def _update(self, batch: TokenBatch) -> dict[str, float]:
        loss = self._recipe.loss
        good = 1.0 - 2.0 * (torch.arange(len(batch)) % 2)
        columns = {
            "advantages": good[:, None] * batch.mask,
            "old_log_probs": batch.log_probs,
            "weights": token_weights(batch.mask, loss.aggregation),
        }
        temperature = self._recipe.rollouts.temperature
        return self._policy.update(batch, columns, partial(policy_contribution, loss), temperature)


def recipe_for(place: Path, shape: Shape) -> Recipe:
    """Return the recipe: long answers in Sokoban."""
    return recipe_of(
        {
            "model": str(place),
            "envs": ["Sokoban-v0"],
            "micro_batch": shape.micro_batch,
            "rollouts": {
                "instances": shape.instances,
                "samples": shape.samples,
                "max_tokens": shape.max_tokens,
            },
        },
        "the smoke",
    )


def made_model(folder: Path, shape: Shape) -> Path:
    """Write a model of random weights with the small model's tokenizer and a plain chat."""
    make_small_model(folder, SmallShape(), 0)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = CHATML
    config = Qwen2Config(
        vocab_size=shape.vocabulary or len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(0)
    model: Any = Qwen2ForCausalLM(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
