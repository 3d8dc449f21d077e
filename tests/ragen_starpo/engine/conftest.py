"""A tiny random model in a folder, with its weights tied or not."""

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from tests.ragen_starpo.engine.batches import VOCABULARY


@pytest.fixture(autouse=True)
def one_thread():
    """The tests share their cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def write(folder, tied, seed=0, hidden=32):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=hidden,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            initializer_range=0.2,
            tie_word_embeddings=tied,
            eos_token_id=[5, 6],
        )
        Qwen2ForCausalLM(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_text('{"kept": "byte by byte"}')
    return folder


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory):
    return write(tmp_path_factory.mktemp("models") / "untied", tied=False)


@pytest.fixture(scope="session")
def tied_dir(tmp_path_factory):
    return write(tmp_path_factory.mktemp("models") / "tied", tied=True)
