"""Makes a language model that trains from scratch on two cores in minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from ragen_bench.errors import UserError
from ragen_starpo.small_tokenizer import make_small_tokenizer


@dataclass(frozen=True)
class Shape:
    """The size of a model: widths of the residual stream and of the feed-forward layers."""

    width: int = 96
    layers: int = 3
    heads: int = 4
    hidden: int = 256

    @classmethod
    def of(cls, width: int, layers: int) -> Shape:
        """Return a shape of another size with the same proportions.

        UserError if `width` is not a positive multiple of 8, since each head has pairs of
        channels, or `layers` is below 1.
        """
        if width < 8 or width % 8:
            raise UserError(f"--width must be a multiple of 8, got {width}")
        if layers < 1:
            raise UserError(f"--layers must be at least 1, got {layers}")
        return cls(width=width, layers=layers, hidden=width * 8 // 3)


def make_small_model(
    folder: Path, shape: Shape, seed: int, thinks: bool = False, bandit: bool = False
) -> int:
    """Write a tokenizer and an untrained Qwen2 model; return its number of parameters.

    `thinks` adds tokens for the phrases of the oracle's thoughts. With `bandit`, the model
    reads the two arms of a Bandit instead of boards.
    """
    tokenizer = make_small_tokenizer(thinks, bandit)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    # The weights come from the global generator, whose state is restored.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = Qwen2ForCausalLM(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())
