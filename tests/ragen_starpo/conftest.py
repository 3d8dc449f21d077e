"""A tiny model of random weights with a real tokenizer, and the small model, untrained."""

import re
import sys

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.sampling import Ending
from ragen_starpo.rollout.environment_loop import ChatTokens
from ragen_starpo.small_model import Shape, make_small_model
from tests.links import ROOT
from tests.ragen_starpo.chats import made


@pytest.fixture(scope="session")
def chatml():
    """A chat, and the id that ends a turn in it."""
    return made("chatml")


@pytest.fixture(scope="session")
def chat(chatml):
    return ChatTokens(chatml[0])


@pytest.fixture(scope="session")
def ending(chatml):
    chat, end = chatml
    return Ending(chat.tokenizer, frozenset([end]), Sampling(1.0, 12, "</answer>", 0))


@pytest.fixture(scope="session")
def random_model(chatml):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = Qwen2Config(
            vocab_size=len(chatml[0].tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=4096,
            initializer_range=0.4,
        )
        return Qwen2ForCausalLM(config).eval()


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_small_model(folder, Shape(width=32, layers=2, hidden=48), 0)
    return folder


@pytest.fixture
def my_reward(tmp_path, monkeypatch):
    """The file of a reward of one's own in the working directory, as docs/training.md has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    page = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    section = page.partition("## A reward of your own")[2]
    file = tmp_path / "my_reward.py"
    file.write_text(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], encoding="utf-8")
    yield file
    sys.modules.pop("my_reward", None)
