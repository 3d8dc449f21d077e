"""A language model small enough to be trained from nothing on two cores in minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as InOrder
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from ragen_bench.errors import UserError
from ragen_bench.suites import make_env
from ragen_envs.instances import Stream
from ragen_envs.policies import random_answer
from ragen_starpo.thoughts import PHRASES

_SPECIAL = ("<pad>", "<user>", "<assistant>", "<end>")
_BOARDS = ("ragen/Sokoban-v0", "ragen/FrozenLake-v0")
_MOVES = tuple(joint + move for joint in ("", " || ") for move in ("Up", "Right", "Down", "Left"))
"""Each is one token together with what joins it to the one before."""
_SQUARES = r"[#_PXOSG√]"
"""Each square of a board is a token of its own, so that boards are read in columns and rows."""
_THINKING = ("<think>", "</think><answer>", *PHRASES)
TEMPLATE = """\
{%- set opened = messages[0].role == 'system' and messages | length > 3 -%}
{%- for message in (messages[3:] if opened else messages) -%}
{%- if message.role == 'assistant' -%}
<assistant>{{ message.content }}<end>
{%- else -%}
{%- set seen = namespace(rows=[], left='') -%}
{%- for line in message.content.split('\n') -%}
{%- if 'Remaining: ' in line -%}
{%- set left = line.split('Remaining: ')[1] -%}
{%- set left = left | replace(' turns, ', '/') | replace(' turn, ', '/') -%}
{%- set seen.left = left | replace(' actions.', '') | replace(' action.', '') -%}
{%- elif line and ' ' not in line -%}
{%- set seen.rows = seen.rows + [line] -%}
{%- endif -%}
{%- endfor -%}
{%- set walled = seen.rows and not seen.rows[0] | replace('#', '') -%}
<user>
{%- for row in (seen.rows[1:-1] if walled else seen.rows) -%}
{{ row[1:-1] if walled else row }}
{%- endfor -%}
{{ seen.left }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""
"""Shows the squares of boards and what is left of the budget, as turns/actions, and none of what is
the same in every episode: the rules, the form of an answer, the opening exchange, the wall around a
room, the ends of lines. The model is made for these games and for boards of this size, and fewer
tokens are more episodes in the same time."""


@dataclass(frozen=True)
class Shape:
    """The size of a model.

    Attributes:
        width: of the residual stream.
        layers: how many.
        heads: of attention.
        hidden: of the feed-forward layers.
    """

    width: int = 96
    layers: int = 3
    heads: int = 4
    hidden: int = 256

    @classmethod
    def of(cls, width: int, layers: int) -> Shape:
        """Return a shape of the same proportions in another size.

        Args:
            width: a multiple of 8, as each head has pairs of channels.
            layers: at least 1.

        Raises:
            UserError: for another width or number of layers.
        """
        if width < 8 or width % 8:
            raise UserError(f"--width is a multiple of 8, got {width}")
        if layers < 1:
            raise UserError(f"--layers is at least 1, got {layers}")
        return cls(width=width, layers=layers, hidden=width * 8 // 3)


def make_small_model(folder: Path, shape: Shape, seed: int, thinks: bool = False) -> int:
    """Write a tokenizer and an untrained Qwen2 model as a folder that transformers loads.

    Args:
        folder: is made, and may be there.
        shape: of the model.
        seed: of its weights.
        thinks: whether the phrases of the oracle's thoughts are tokens too.

    Returns:
        How many parameters it has.
    """
    tokenizer = _tokenizer(_THINKING if thinks else ())
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
    # The weights come from the global generator, which is put back as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = Qwen2ForCausalLM(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def _tokenizer(phrases: Sequence[str]) -> Any:
    """Return a byte-level tokenizer that knows the games' words; the same each time.

    Args:
        phrases: that are a token each.
    """
    bare = Tokenizer(BPE())
    bare.pre_tokenizer = InOrder(
        [
            Split(Regex(_SQUARES), "isolated"),
            ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    bare.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=512,
        min_frequency=8,
        special_tokens=list(_SPECIAL),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator(_corpus(), trainer)
    bare.add_tokens(["<answer>", "</answer>", *_MOVES, *phrases])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bare,
        pad_token="<pad>",
        eos_token="<end>",
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )


def _corpus() -> list[str]:
    """Return observations and answers of a random player on train instances."""
    texts = []
    for name in _BOARDS:
        env = make_env(name, "train", "answer")
        for seed in range(64):
            stream = Stream("small model's corpus", seed, name)
            observation, _ = env.reset(seed=seed)
            texts.append(observation)
            over = False
            while not over:
                answer = random_answer(env, stream)
                observation, _, terminated, truncated, _ = env.step(answer)
                texts += [answer, observation]
                over = terminated or truncated
    return texts
