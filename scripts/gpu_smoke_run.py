"""Iterations of the smoke: the parts of `ragen-train local`, each of which is timed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from gpu_smoke_measures import DTYPES, memory_taken, timed, training_flops
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from ragen_bench.runs.atomic import replacing_folder
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.engine.computing import Arithmetic, Computing
from ragen_starpo.engine.worker import Policy
from ragen_starpo.local.actor import Actor
from ragen_starpo.objective import policy_contribution
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.rollout.trajectory import TokenBatch, batch_of
from ragen_starpo.small_model import Shape as SmallShape
from ragen_starpo.small_model import make_small_model

CHATML = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
TOKENS = 8192
"""Maximum tokens of a micro-batch, as in the recipe `gpu`."""


@dataclass(frozen=True)
class Shape:
    """The size of a model and of its rollouts.

    Attributes:
        width, hidden, layers, heads, kv_heads: Sizes of a Qwen2 model.
        vocabulary: Number of entries; 0 for the tokenizer's number.
        instances, samples, max_tokens, micro_batch: As in a recipe.
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
    # Qwen2.5-0.5B.
    "gpu": Shape(896, 4864, 24, 14, 2, 151936, 8, 16, 200, 4),
    "tiny": Shape(32, 48, 2, 2, 1, 0, 1, 2, 8, 2),
}


class Run:
    """A policy in training and the actor that plays.

    Args:
        place: Folder of the model.
        recipe: Recipe of the run.
        dtype: Type of the arithmetic of both; the policy's weights are float32.
    """

    def __init__(self, place: Path, recipe: Recipe, dtype: Arithmetic) -> None:
        self._place, self._recipe, self._dtype = place, recipe, dtype
        self._actor = Actor(place, recipe, DTYPES[dtype])
        self._policy = self._made(Computing(dtype=dtype))
        self._first = self._policy.state_for_rollout()
        self._batch: TokenBatch | None = None
        self._config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        self.parameters = sum(weight.numel() for weight in self._first.values())
        if self._config["tie_word_embeddings"]:
            self.parameters -= self._config["vocab_size"] * self._config["hidden_size"]

    def iteration(self, number: int) -> dict[str, Any]:
        """Run an iteration; return counts, seconds and the difference between the engines."""
        temperature = self._recipe.rollouts.temperature
        played, rollouts = timed(lambda: self._actor.rollouts(number, temperature))
        self._batch = batch = batch_of(played, self._actor.pad)
        again, scoring = timed(lambda: self._policy.log_probs(batch, temperature)[0])
        apart = (again - batch.log_probs)[batch.mask.bool()].abs()
        memory_taken()
        found, update = timed(lambda: self._update(self._policy, batch))
        memory = memory_taken()
        state, _ = timed(self._policy.state_for_rollout)
        _, weights = timed(lambda: self._actor.load_weights(state))
        return {
            "generated": int(batch.mask.sum()),
            "positions": int(batch.attention.sum()),
            "longest": batch.ids.shape[1],
            "rollouts": rollouts,
            "scoring": scoring,
            "update": update,
            "weights": weights,
            "training_flops": training_flops(self.parameters, self._config, batch.attention),
            "gap_mean": float(apart.mean()),
            "gap_max": float(apart.max()),
            "memory": memory,
            "loss": found["loss"],
            "grad_norm": found["grad_norm"],
        }

    def moved(self) -> float:
        """Return the largest change of a weight."""
        now = self._policy.state_for_rollout()
        return max(float((now[name] - was).abs().max()) for name, was in self._first.items())

    def ways(self) -> dict[str, Computing]:
        """Return ways to compute an update, by their names."""
        own = {"dtype": self._dtype}
        return {
            f"{self._recipe.micro_batch} trajectories": Computing(**own),
            f"{TOKENS:,} tokens": Computing(TOKENS, **own),
        }

    def update_by(self, way: str) -> dict[str, Any]:
        """Return the seconds of an update of the last iteration's trajectories, and its figures."""
        batch = self._batch
        if batch is None:
            raise ValueError("nothing was played")
        policy = self._made(self.ways()[way])
        self._update(policy, batch)
        memory_taken()
        found, seconds = timed(lambda: self._update(policy, batch))
        return {
            "positions": int(batch.attention.sum()),
            "seconds": seconds,
            "memory": memory_taken(),
            "grad_norm": found["grad_norm"],
        }

    def _made(self, computing: Computing) -> Policy:
        recipe = self._recipe
        return Policy(
            self._place,
            recipe.optimiser,
            recipe.micro_batch,
            seed=recipe.seed,
            computing=computing,
        )

    def _update(self, policy: Policy, batch: TokenBatch) -> dict[str, float]:
        loss = self._recipe.loss
        good = 1.0 - 2.0 * (torch.arange(len(batch)) % 2)
        columns = {
            "advantages": good[:, None] * batch.mask,
            "old_log_probs": batch.log_probs,
            "weights": token_weights(batch.mask, loss.aggregation),
        }
        temperature = self._recipe.rollouts.temperature
        return policy.update(batch, columns, partial(policy_contribution, loss), temperature)


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


def made_model(folder: Path, shape: Shape) -> None:
    """Write a model of random weights with the small model's tokenizer and a plain chat."""
    with replacing_folder(folder) as draft:
        make_small_model(draft, SmallShape(), 0)
        tokenizer: Any = AutoTokenizer.from_pretrained(draft)
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
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
