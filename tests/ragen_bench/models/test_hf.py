"""The bundled language model, for real: one load for all tests of this file."""

import dataclasses
import json
import shutil

import pytest

from ragen_bench.errors import UserError
from ragen_bench.evaluation import Evaluation, evaluate
from ragen_bench.models import Request, Sampling
from ragen_bench.models.bundled import bundled_model, converted_folder
from ragen_bench.models.hf import HFModel
from ragen_bench.suites import make_env

pytestmark = pytest.mark.xdist_group("language-model")
GREEDY = Sampling(temperature=0, max_tokens=40, stop="</answer>", seed=0)


@pytest.fixture(scope="module")
def model():
    return bundled_model()


@pytest.fixture(scope="module")
def requests():
    """Short conversations of different lengths, so that a batch is padded."""
    env = make_env("ragen/Bandit-v0", "val", "think")
    questions = ["Name a colour.", "Is water wet?", "Count up from one, one number a line, to 99."]
    return [
        Request([{"role": "user", "content": question}], f"question {i}", env)
        for i, question in enumerate(questions)
    ]


def ids_of(model, request):
    text = model._loaded.tokenizer.apply_chat_template(
        list(request.messages), tokenize=False, add_generation_prompt=True
    )
    return model._loaded.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]


def reference(model, request, max_tokens):
    """Greedy decoding without cache, batch, padding or `generate`."""
    import torch

    ids = ids_of(model, request)
    start = ids.shape[1]
    for _ in range(max_tokens):
        with torch.inference_mode():
            best = model._loaded.model(input_ids=ids, use_cache=False).logits[0, -1].argmax()
        ids = torch.cat([ids, best[None, None]], dim=1)
        text = model._loaded.tokenizer.decode(ids[0, start:], skip_special_tokens=False)
        if int(best) == model._loaded.model.config.eos_token_id or "</answer>" in text:
            break
    sampled = ids[0, start:]
    return model._loaded.tokenizer.decode(sampled, skip_special_tokens=True), start, len(sampled)


def test_greedy_batches_equal_token_by_token_decoding(model, requests):
    completions = model.complete(requests, GREEDY)
    for request, completion in zip(requests, completions, strict=True):
        text, read, sampled = reference(model, request, GREEDY.max_tokens)
        assert completion.text == text
        assert (completion.prompt_tokens, completion.completion_tokens) == (read, sampled)


def test_answers_end_with_the_stop_text(model, requests):
    [unstopped] = model.complete(requests[2:], GREEDY)
    stop = unstopped.text[8:11]
    end = unstopped.text.index(stop) + len(stop)
    [stopped] = model.complete(requests[2:], dataclasses.replace(GREEDY, stop=stop))
    assert stopped.text == unstopped.text[:end]
    assert stopped.completion_tokens < unstopped.completion_tokens


def test_an_answer_depends_on_seed_and_key_not_on_the_batch(model, requests):
    sampling = Sampling(temperature=1.0, max_tokens=12, stop="</answer>", seed=3)
    together = [c.text for c in model.complete(requests, sampling)]
    alone = [model.complete([request], sampling)[0].text for request in requests]
    assert together == alone
    other_seed = [c.text for c in model.complete(requests, dataclasses.replace(sampling, seed=4))]
    assert together != other_seed
    other_key = dataclasses.replace(requests[0], key="another")
    assert model.complete([other_key], sampling)[0].text != together[0]


def test_sampling_follows_the_models_distribution(model, requests):
    import torch

    with torch.inference_mode():
        logits = model._loaded.model(input_ids=ids_of(model, requests[0])).logits[0, -1]
    odds = torch.softmax(logits.double(), dim=-1)
    top = int(odds.argmax())
    n = 200
    many = [dataclasses.replace(requests[0], key=str(i)) for i in range(n)]
    sampling = Sampling(temperature=1.0, max_tokens=1, stop="</answer>", seed=0)
    hits = sum(
        completion.text == model._loaded.tokenizer.decode([top])
        for start in range(0, n, 50)
        for completion in model.complete(many[start : start + 50], sampling)
    )
    expected = float(odds[top])
    deviation = (expected * (1 - expected) / n) ** 0.5
    assert abs(hits / n - expected) < 4 * deviation


def test_no_global_generator_is_touched(model, requests):
    import torch

    before = torch.get_rng_state()
    model.complete(requests[:1], Sampling(1.0, 4, "</answer>", 0))
    assert torch.equal(before, torch.get_rng_state())


def test_an_interrupted_run_ends_with_the_same_bytes(model, tmp_path):
    evaluation = Evaluation(
        model="smollm2-135m",
        suite="",
        instances={"ragen/Bandit-v0": 6},
        split="val",
        response_format="think",
        samples=1,
        seed=0,
        temperature=1.0,
        max_tokens=16,
    )
    model = HFModel(str(converted_folder()), batch_size=4)
    whole = evaluate(evaluation, model, tmp_path / "whole")
    whole.unlock()
    data = whole.episodes_file.read_bytes()
    lines = data.splitlines(keepends=True)
    for kept in (b"".join(lines[:2]), b"".join(lines[:4]) + lines[4][:30]):
        part = tmp_path / "part"
        shutil.copytree(tmp_path / "whole", part)
        (part / "episodes.jsonl").write_bytes(kept)
        resumed = evaluate(evaluation, model, part)
        resumed.unlock()
        assert resumed.episodes_file.read_bytes() == data
        shutil.rmtree(part)


def test_the_identity_tells_folders_apart(model, tmp_path):
    source = converted_folder()
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in source.iterdir():
        (copy / file.name).symlink_to(file)
    same = HFModel(str(copy)).identity()
    assert same == model.identity()
    assert same["dtype"] == "float32"
    weights = bytearray((source / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").write_bytes(weights)
    assert HFModel(str(copy)).identity() != same


@pytest.fixture
def tiny(tmp_path):
    """A folder with a random model of one layer and the bundled tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        eos_token_id=[2, 1],
        bos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(converted_folder() / name, tmp_path)
    return tmp_path


def test_a_models_own_generation_settings_do_not_count(tiny, requests):
    sampling = dataclasses.replace(GREEDY, max_tokens=12)
    plain = HFModel(str(tiny)).complete(requests[:1], sampling)
    settings = {"repetition_penalty": 1.9, "num_beams": 3, "stop_strings": ["a"], "top_k": 1}
    (tiny / "generation_config.json").write_text(json.dumps({**settings, "eos_token_id": [2, 1]}))
    assert HFModel(str(tiny)).complete(requests[:1], sampling) == plain


def test_a_conversation_beyond_the_context_is_refused(tiny, requests):
    sampling = dataclasses.replace(GREEDY, max_tokens=60)
    with pytest.raises(UserError, match=r"question 0 has .* exceed the 64 of"):
        HFModel(str(tiny)).complete(requests[:1], sampling)


def test_a_template_without_system_role_gets_it_in_the_users_message(tiny):
    template = tiny / "chat_template.jinja"
    refuse = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    template.write_text(refuse + template.read_text())
    model = HFModel(str(tiny))
    assert model.identity()["system_message"] == "merged"
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    assert "user\nS\n\nU<|im_end|>" in model._loaded.prompt(messages)


def test_a_template_that_refuses_everything_is_named(tiny):
    (tiny / "chat_template.jinja").write_text("{{ raise_exception('not today') }}")
    with pytest.raises(UserError, match="refuses a conversation: not today"):
        HFModel(str(tiny))


def test_truncated_weights_are_one_line(tiny):
    weights = tiny / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match="no model can be loaded from") as caught:
        HFModel(str(tiny))
    assert "\n" not in str(caught.value)
