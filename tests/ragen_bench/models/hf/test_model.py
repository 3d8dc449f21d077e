"""The bundled language model, for real: one load for all tests of this file."""

import dataclasses
import shutil

import pytest
import torch

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.models import Sampling
from ragen_bench.models.base import ask_all
from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.hf.model import HFModel

from ..hf_models import Reference, request

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
GREEDY = Sampling(temperature=0, max_tokens=11, stop="</answer>", seed=0)
QUESTIONS = ["Name a colour.", "Is water wet?", "Count up from one, one number a line, to 99."]


@pytest.fixture(scope="module")
def model():
    return HFModel(str(converted_folder()), slots=2)


@pytest.fixture(scope="module")
def requests():
    return [request(f"question {i}", question) for i, question in enumerate(QUESTIONS)]


@pytest.fixture(scope="module")
def reference():
    return Reference(converted_folder())


def test_greedy_answers_equal_token_by_token_decoding(model, reference, requests):
    answers = ask_all(model, requests, GREEDY)
    assert answers == [reference.complete(one, GREEDY) for one in requests]
    assert {one.finish for one in answers} == {"stop", "length"}


def test_a_later_turn_equals_token_by_token_decoding(model, reference, requests):
    with_two_turns = request("question 0/1", QUESTIONS[0], "Red, or blue.", "And another?")
    engine = model.engine(GREEDY)
    engine.submit(requests[0])
    engine.collect()
    engine.submit(with_two_turns)
    [(_, answer)] = engine.collect()
    engine.close()
    assert answer == reference.complete(with_two_turns, GREEDY)


def test_answers_end_with_the_stop_text(model, requests):
    [unstopped] = ask_all(model, requests[2:], GREEDY)
    stop = unstopped.text[8:11]
    end = unstopped.text.index(stop) + len(stop)
    [stopped] = ask_all(model, requests[2:], dataclasses.replace(GREEDY, stop=stop))
    assert stopped.text == unstopped.text[:end]
    assert stopped.completion_tokens < unstopped.completion_tokens
    assert stopped.finish == "stop"


def test_an_answer_depends_on_seed_and_key_not_on_who_shares_the_engine(model, requests):
    sampling = Sampling(temperature=1.0, max_tokens=12, stop="</answer>", seed=3)
    together = [c.text for c in ask_all(model, requests, sampling)]
    backwards = [c.text for c in ask_all(model, requests[::-1], sampling)]
    alone = [ask_all(model, [one], sampling)[0].text for one in requests]
    assert together == alone == backwards[::-1]
    other_seed = [c.text for c in ask_all(model, requests, dataclasses.replace(sampling, seed=4))]
    assert together != other_seed
    other_key = dataclasses.replace(requests[0], key="another")
    assert ask_all(model, [other_key], sampling)[0].text != together[0]


def test_sampling_follows_the_models_distribution(model, reference, requests):
    odds = torch.softmax(reference.logits(reference.ids(requests[0].messages)).double(), dim=-1)
    top, n = int(odds.argmax()), 100
    many = [dataclasses.replace(requests[0], key=str(i)) for i in range(n)]
    answers = ask_all(model, many, Sampling(1.0, 1, "</answer>", 0))
    hits = sum(answer.text == reference.tokenizer.decode([top]) for answer in answers)
    expected = float(odds[top])
    deviation = (expected * (1 - expected) / n) ** 0.5
    assert abs(hits / n - expected) < 4 * deviation


def test_no_global_generator_is_touched(model, requests):
    before = torch.get_rng_state()
    ask_all(model, requests[:1], Sampling(1.0, 4, "</answer>", 0))
    assert torch.equal(before, torch.get_rng_state())


def test_an_interrupted_run_ends_with_the_same_bytes(model, monkeypatch, tmp_path):
    monkeypatch.setattr(model, "group_size", 4)
    evaluation = Evaluation(
        model="smollm2-135m",
        suite="",
        instances={"ragen/Bandit-v0": 6},
        split="val",
        response_format="think",
        samples=1,
        seed=0,
        temperature=1.0,
        max_tokens=8,
    )
    whole = play_run(evaluation, model, tmp_path / "whole")
    whole.unlock()
    data = whole.episodes_file.read_bytes()
    lines = data.splitlines(keepends=True)
    part = tmp_path / "part"
    shutil.copytree(tmp_path / "whole", part)
    (part / "episodes.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:30])
    resumed = play_run(evaluation, model, part)
    resumed.unlock()
    assert resumed.episodes_file.read_bytes() == data
