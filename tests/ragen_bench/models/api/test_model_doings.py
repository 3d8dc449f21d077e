"""Errors that say what the model did, or that its server loads it again."""

import pytest

from ragen_bench.models import ask_all

from . import hosted
from .client import REQUESTS, SAMPLED, model_at, texts

EMPTY = [{"role": "user", "content": "-"}]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789-secret")


DOINGS = [
    (
        (400, "Could not finish the message because max_tokens or model output limit was reached."),
        "length",
    ),
    (
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
        "filtered",
    ),
    ((400, "系统检测到输入或生成内容可能包含不安全或敏感内容"), "filtered"),
    ((400, "Failed to parse fc related info to json format!"), "stop"),
    (
        (200, {"choices": None, "base_resp": {"status_code": 1027, "status_msg": "new_sensitive"}}),
        "filtered",
    ),
    (
        (200, {"choices": None, "base_resp": {"status_code": 1039, "status_msg": "token limit"}}),
        "context",
    ),
]


@pytest.mark.parametrize(("reply", "finish"), DOINGS)
def test_what_a_model_did_is_an_answer(reply, finish):
    status, said = reply
    with hosted.running() as stub:
        model = model_at(stub.url, hosted.NAME, retries=0, concurrency=1)
        texts(model, REQUESTS[:1])
        body = said if status == 200 else {"error": {"message": said}}
        stub.reply = lambda asked: (
            (status, body) if asked["messages"] != EMPTY else (200, stub.said())
        )
        [answer] = ask_all(model, REQUESTS[:1], SAMPLED)
    assert (answer.text, answer.finish) == ("", finish)


@pytest.mark.parametrize("words", ["Model unloaded.", "The model has crashed without additional"])
def test_a_model_that_is_loaded_again_is_asked_again(words):
    with hosted.running() as stub:
        model = model_at(stub.url, hosted.NAME, retries=1, concurrency=1)
        texts(model, REQUESTS[:1])
        asked = len(stub.bodies)
        stub.refuses = lambda body: (
            (400, {"message": words}) if len(stub.bodies) == asked + 1 else None
        )
        assert texts(model, REQUESTS[:1]) == [hosted.ANSWER]
