"""Folders that are loaded or refused, on a small random model."""

import dataclasses
import json
import logging

import pytest
import torch
from transformers import AutoTokenizer

from ragen_bench.errors import UserError
from ragen_bench.models import Sampling, ServerOptions, resolve
from ragen_bench.models.base import ask_all
from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import make_chat
from ragen_bench.models.hf.model import HFModel

from ..hf_models import request, save_tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


@pytest.fixture
def tiny(tmp_path):
    return save_tiny(tmp_path, num_hidden_layers=1)


@pytest.fixture
def tokenizer():
    return AutoTokenizer.from_pretrained(converted_folder())


def test_the_identity_tells_folders_apart(tiny, tmp_path_factory):
    first = HFModel(str(tiny)).identity()
    copy = tmp_path_factory.mktemp("copy")
    for file in tiny.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert HFModel(str(copy)).identity() == first
    assert (first["dtype"], first["engine"]) == ("float64", "continuous")
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert HFModel(str(copy)).identity() != first


def test_a_models_own_generation_settings_do_not_count(tiny):
    sampling, asked = Sampling(0, 12, "</answer>", 0), [request("key", "Wet.")]
    plain = ask_all(HFModel(str(tiny)), asked, sampling)
    settings = {"repetition_penalty": 1.9, "num_beams": 3, "stop_strings": ["a"], "top_k": 1}
    (tiny / "generation_config.json").write_text(json.dumps({**settings, "eos_token_id": [2, 1]}))
    assert ask_all(HFModel(str(tiny)), asked, sampling) == plain


def test_a_template_without_system_role_gets_it_in_the_users_message(tiny):
    template = tiny / "chat_template.jinja"
    refuse = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    template.write_text(refuse + template.read_text())
    model = HFModel(str(tiny))
    assert model.identity()["system_message"] == "merged"
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    assert "user\nS\n\nU<|im_end|>" in model._loaded.chat.render(messages)


def test_a_template_that_refuses_everything_is_named(tiny):
    (tiny / "chat_template.jinja").write_text("{{ raise_exception('not today') }}")
    with pytest.raises(UserError, match="refuses a conversation: not today"):
        HFModel(str(tiny))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('a\\nb') }}", "refuses a conversation: a"),
        ("{{ 1 / 0 }}", "refuses a conversation: ZeroDivisionError: division by zero"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "cannot be rendered within its limits"),
    ],
)
def test_a_template_that_fails_on_a_later_conversation_is_one_line(tokenizer, template, says):
    tokenizer.chat_template = "{% if messages|length > 8 %}" + template + "{% endif %}Hi"
    chat = make_chat("it", tokenizer)
    messages = [{"role": ("user", "assistant")[i % 2], "content": "a"} for i in range(9)]
    with pytest.raises(UserError) as caught:
        chat.tokenize(messages)
    assert str(caught.value).startswith(f"the model's chat template {says}")
    assert "\n" not in str(caught.value)


def test_a_template_that_fails_on_every_conversation_is_named(tokenizer):
    tokenizer.chat_template = "{{ 1 / 0 }}"
    with pytest.raises(UserError, match="of 'it' refuses a conversation: ZeroDivisionError"):
        make_chat("it", tokenizer)


def test_a_lone_surrogate_is_read_as_a_question_mark(tokenizer):
    chat = make_chat("it", tokenizer)
    odd, plain = ([{"role": "user", "content": f"Say {x}."}] for x in ("\ud800", "?"))
    assert chat.tokenize(odd) == chat.tokenize(plain)


def test_code_of_a_models_own_is_refused_without_a_question(tiny, monkeypatch):
    config = json.loads((tiny / "config.json").read_text())
    auto_map = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    changed = {**config, "model_type": "own", "auto_map": auto_map}
    (tiny / "config.json").write_text(json.dumps(changed))
    (tiny / "own.py").write_text("raise SystemExit('run')\n")
    asked = []
    monkeypatch.setattr("builtins.input", lambda *words: asked.append(words) or "y")
    with pytest.raises(UserError, match="no model can be loaded from") as caught:
        HFModel(str(tiny))
    assert asked == []
    assert "\n" not in str(caught.value)


def test_so_many_conversations_as_the_command_says(tiny):
    assert resolve(f"hf/{tiny}").slots == 16
    model = resolve(f"hf/{tiny}", ServerOptions(concurrency=3))
    assert (model.slots, model.group_size) == (3, 12)


def test_the_retries_at_a_hub_that_is_not_there_are_not_told(tiny):
    logging.getLogger("huggingface_hub").setLevel(logging.WARNING)
    HFModel(str(tiny))
    assert not logging.getLogger("huggingface_hub.utils._http").isEnabledFor(logging.WARNING)


def test_a_limit_that_fills_the_context_is_refused(tiny):
    model = HFModel(str(tiny))
    with pytest.raises(UserError) as caught:
        model.engine(Sampling(0, 512, "</answer>", 0))
    assert str(caught.value) == (
        f"{str(tiny)!r} has a context of 512 tokens, which leaves no room for a question: lower "
        "--max-tokens, which is 512"
    )
    model.engine(Sampling(0, 511, "</answer>", 0)).close()


def test_a_tokenizer_with_more_tokens_than_the_model_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"the model cannot be run on \w+: IndexError"):
        HFModel(str(save_tiny(tmp_path, vocab_size=100, num_hidden_layers=1)))


@pytest.mark.parametrize("engine", ["continuous", "waves"])
def test_too_little_memory_is_one_line(tiny, engine):
    others = {"advice": "take a smaller model"} if engine == "waves" else {}
    model = HFModel(str(tiny), slots=2, **others)
    if engine == "waves":
        model._loaded.model.set_attn_implementation("sdpa")
        model._loaded = dataclasses.replace(model._loaded, waves="for the test")

    def use_up(module, inputs):
        torch.empty(1 << 60)

    model._loaded.model.get_output_embeddings().register_forward_pre_hook(use_up)
    with pytest.raises(UserError) as caught:
        ask_all(model, [request("key", "Wet.")], Sampling(0, 4, "</answer>", 0))
    assert "has too little memory for" in str(caught.value)
    advice = "lower --concurrency, with another --out; finished episodes are kept"
    assert str(caught.value).endswith(f" at once: {others.get('advice', advice)}")


def test_truncated_weights_are_one_line(tiny):
    weights = tiny / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match="no model can be loaded from") as caught:
        HFModel(str(tiny))
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(UserError, match=r"is not a model folder: it has no config\.json"):
        HFModel(str(tmp_path))
