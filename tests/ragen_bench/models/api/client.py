"""The client under test, in a hurry, and what it is asked."""

import dataclasses

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Request, Sampling, ServerOptions, ask_all
from ragen_bench.models.api.server_model import OpenAIModel

from . import llama

KEY = "sk-0123456789-secret"
GREEDY = Sampling(temperature=0, max_tokens=6, stop="</answer>", seed=0)
SAMPLED = dataclasses.replace(GREEDY, temperature=1.0, seed=3)
QUESTIONS = ["Name a colour.", "Is water wet?", "Say hi.", "What is 2 + 2?"]
REQUESTS = [
    Request([{"role": "user", "content": text}], f"question {i}", None)
    for i, text in enumerate(QUESTIONS)
]


def model_at(url, name=llama.NAME, **options):
    quick = {"first_wait": 0.01, "timeout": 60.0, "retries": 2, **options}
    return OpenAIModel(name, ServerOptions(base_url=url, **quick))


def texts(model, requests=REQUESTS, sampling=SAMPLED):
    return [completion.text for completion in ask_all(model, requests, sampling)]


def refusal(model, requests=REQUESTS[:1], sampling=SAMPLED):
    """Return the error that ends a request."""
    with pytest.raises(UserError) as caught:
        ask_all(model, requests, sampling)
    assert "\n" not in str(caught.value)
    return caught.value
