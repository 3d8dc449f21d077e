"""Makes a language model, with its tokenizer, that trains from scratch on two cores in minutes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.bandit.names import BOLD, STEADY
from ragen_starpo.thoughts import PHRASES

_SPECIAL = ("<pad>", "<user>", "<assistant>", "<end>")
_BOARDS = ("ragen/Sokoban-v0", "ragen/FrozenLake-v0")
_MOVES = tuple(joint + move for joint in ("", " || ") for move in ("Up", "Right", "Down", "Left"))
"""Moves, each one token, also together with the separator before it."""
_ARMS = (", ", *STEADY, *BOLD)
"""Arms of all splits, each one token: a model of this size cannot use their letters."""
_SQUARES = r"[#_PXOSG√]"
"""Squares, each one token, so that boards have rows and columns of tokens."""
_THINKING = ("<think>", "</think><answer>", *PHRASES)
_HEAD = """\
{%- set opened = messages[0].role == 'system' and messages | length > 3 -%}
{%- for message in (messages[3:] if opened else messages) -%}
{%- if message.role == 'assistant' -%}
<assistant>{{ message.content }}<end>
{%- else -%}
"""
_TAIL = """\
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""
_BOARD_TEMPLATE = """\
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
"""
_ARM_TEMPLATE = """\
<user>
{%- for line in message.content.split('\n') -%}
{%- if line.startswith('Actions: ') -%}{{ line[9:-1] }}{%- endif -%}
{%- endfor -%}
"""
"""The templates keep the squares of a board and the remaining budget as turns/actions, or the names
of arms. They drop all text that is the same in every episode: the rules, the response format, the
opening exchange, the wall around a room, the line ends. The model is for these games and boards of
this size only, and fewer tokens allow more episodes in the same time."""


_BLOCK = 64
"""Channels of a feed-forward layer come in multiples of this, as the kernels of GPUs take them."""


@dataclass(frozen=True)
class Shape:
    """The size of a model: widths of the residual stream and of the feed-forward layers."""

    width: int = 96
    layers: int = 3
    heads: int = 4
    hidden: int = 256

    @classmethod
    def of(cls, width: int, layers: int) -> Shape:
        """Return a shape of another size with the same proportions, rounded up to whole blocks.

        UserError if `width` is not a positive multiple of 8, since each head has pairs of
        channels, or `layers` is below 1.
        """
        if width < 8 or width % 8:
            raise UserError(f"--width must be a multiple of 8, got {width}")
        if layers < 1:
            raise UserError(f"--layers must be at least 1, got {layers}")
        return cls(width=width, layers=layers, hidden=-(-width * 8 // (3 * _BLOCK)) * _BLOCK)


def make_small_model(
    folder: Path, shape: Shape, seed: int, thinks: bool = False, bandit: bool = False
) -> int:
    """Write a tokenizer and an untrained Qwen2 model; return its number of parameters.

    `thinks` adds tokens for the phrases of the oracle's thoughts. With `bandit`, the model
    reads the two arms of a Bandit instead of boards.
    """
    tokenizer = _make_tokenizer(thinks, bandit)
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
        model = Qwen2ForCausalLM(config)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())


def _make_tokenizer(thinks: bool, bandit: bool) -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer with the games' words as tokens; it is deterministic."""
    words, template = (_ARMS, _ARM_TEMPLATE) if bandit else (_MOVES, _BOARD_TEMPLATE)
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
    bare.add_tokens(["<answer>", "</answer>", *words, *(_THINKING if thinks else ())])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bare,
        pad_token="<pad>",
        eos_token="<end>",
        chat_template=_HEAD + template + _TAIL,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )


def _corpus() -> list[str]:
    texts = []
    for name in _BOARDS:
        env = make_env(name, "train", "answer")
        for seed in range(64):
            stream = RandomStream("small model's corpus", seed, name)
            observation, _ = env.reset(seed=seed)
            texts.append(observation)
            done = False
            while not done:
                response = random_answer(env, stream)
                observation, _, terminated, truncated, _ = env.step(response)
                texts += [response, observation]
                done = terminated or truncated
    return texts
