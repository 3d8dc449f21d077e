"""Chat templates of three families, on a real tokenizer that knows their special tokens.

The templates are written after the families' documented formats (Qwen's ChatML, Llama 3, Gemma);
Gemma's refuses a system message, and all but ChatML take white space off the messages' ends.
"""

from transformers import AutoTokenizer

from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import chat_of

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
SPECIAL = {
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "llama-3": ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "gemma": ("<bos>", "<start_of_turn>", "<end_of_turn>"),
}
TEMPLATES = {"chatml": CHATML, "llama-3": LLAMA_3, "gemma": GEMMA}


def tokenizer_of(family):
    tokenizer = AutoTokenizer.from_pretrained(converted_folder())
    tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL[family])})
    tokenizer.chat_template = TEMPLATES[family]
    return tokenizer


def made(family):
    """Return a chat, and the id that ends the model's turn in it."""
    tokenizer = tokenizer_of(family)
    return chat_of(family, tokenizer), tokenizer.convert_tokens_to_ids(SPECIAL[family][-1])
