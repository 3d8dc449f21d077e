"""Small random models, and what they would answer if nothing were batched, cached or reused."""

import functools
import shutil

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from ragen_bench.models import Completion, Request
from ragen_bench.models.bundled import converted_folder
from ragen_bench.suites import make_env
from ragen_envs.core.instances import RandomStream

# The tests share their cores, and threads that wait for each other then take many times as long.
torch.set_num_threads(1)

VOCABULARY = 49152
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "eos_token_id": [2, 1],
    "bos_token_id": 1,
    "initializer_range": 0.3,
}


def save(model, folder):
    """Save a model with the bundled tokenizer; in double precision, so that rounding is nothing."""
    model.double().save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(converted_folder() / name, folder)
    return folder


def save_tiny(folder, **changes):
    torch.manual_seed(0)
    return save(LlamaForCausalLM(LlamaConfig(**{**SHAPE, **changes})), folder)


def request(key, *texts):
    """A request whose messages are by turns the user's and the model's."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return Request(messages, key, make_env("ragen/Bandit-v0", "val", "think"))


class Reference:
    """Decodes a token at a time, each by a whole pass over one conversation."""

    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
        self.logits = functools.lru_cache(maxsize=None)(self._logits)

    def ids(self, messages):
        text = self.tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True
        )
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _logits(self, ids):
        with torch.inference_mode():
            return self.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]

    def complete(self, request, sampling):
        prompt = ids = self.ids(request.messages)
        stream = RandomStream("sampling", sampling.seed, request.key)
        finish = "length"
        while len(ids) < len(prompt) + sampling.max_tokens:
            token = self._next(self.logits(ids), stream, sampling.temperature)
            ids = (*ids, token)
            said = self.tokenizer.decode(ids[len(prompt) :])
            if token in (1, 2) or sampling.stop in said:
                finish = "stop"
                break
        text = self.tokenizer.decode(ids[len(prompt) :], skip_special_tokens=True)
        if sampling.stop in text:
            text = text[: text.index(sampling.stop) + len(sampling.stop)]
        return Completion(text, len(prompt), len(ids) - len(prompt), finish)

    def _next(self, logits, stream, temperature):
        if temperature == 0:
            return int(logits.argmax())
        weights = torch.exp((logits.double() - logits.max()) / temperature)
        mark = stream.word() / 2**64 * float(weights.sum())
        return int((weights.cumsum(0) <= mark).sum())
