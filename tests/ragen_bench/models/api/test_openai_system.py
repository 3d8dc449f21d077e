"""Servers whose chat template refuses the system role."""

import json

import pytest

from ragen_bench.cli import main
from ragen_bench.models import Request
from ragen_bench.models.api.system_role import refuses_system
from ragen_bench.models.prompt import merge_system, opening

from . import hosted
from .client import GREEDY, model_at, refusal, texts

SYSTEM = {"role": "system", "content": "S"}
SAID = [SYSTEM, {"role": "user", "content": "U"}]
ASKED = [
    Request([*opening("think"), {"role": "user", "content": f"Q{i}"}], f"{i}", None) for i in (1, 2)
]
WORDS = [
    (400, "System role not supported"),
    (500, "Conversation roles must alternate user/assistant/user/assistant/..."),
    (400, "Only user and assistant roles are supported!"),
    (422, "After the optional system message, conversation roles must alternate"),
    (400, "Unexpected role: system"),
    (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
]


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789-secret")
    with hosted.running() as stub:
        yield stub


def refusing(status, words):
    return lambda body: (
        (status, {"message": words}) if body["messages"][0]["role"] == "system" else None
    )


@pytest.mark.parametrize(("status", "words"), WORDS)
@pytest.mark.parametrize("owner", ["hosted", "vllm"])
def test_its_text_leads_the_first_user_message(stub, status, words, owner):
    stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": owner}]}
    stub.refuses = refusing(status, words)
    model = model_at(stub.url, hosted.NAME, retries=0, concurrency=1)
    assert "system_message" not in model.identity()
    assert texts(model, ASKED, GREEDY) == [hosted.ANSWER] * 2
    assert model.identity()["system_message"] == "merged"
    assert "refuses system messages" in " ".join(model.notes)
    system, first, *rest = ASKED[1].messages
    merged = {"role": "user", "content": f"{system['content']}\n\n{first['content']}"}
    assert stub.bodies[-1]["messages"] == [merged, *rest]
    assert [body["messages"][0]["role"] for body in stub.bodies].count("system") == 1


def test_another_refusal_is_reported_as_it_was(stub):
    stub.refuses = lambda body: (400, {"message": "Conversation roles must alternate"})
    model = model_at(stub.url, hosted.NAME)
    assert "Conversation roles must alternate" in str(refusal(model, ASKED, GREEDY))
    assert "system_message" not in model.identity()
    assert not refuses_system("HTTP 400 too many tokens in the system", SAID)
    assert not refuses_system(WORDS[0][1], SAID[1:])


def test_pictures_stay_behind_the_system_text():
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    user = {"role": "user", "content": [{"type": "text", "text": "U"}, picture]}
    [merged] = merge_system([SYSTEM, user])
    assert merged["content"] == [{"type": "text", "text": "S"}, *user["content"]]


@pytest.mark.parametrize("owner", ["hosted", "vllm"])
def test_the_record_says_so_and_a_resumed_run_asks_alike(stub, tmp_path, owner):
    stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": owner}]}
    stub.refuses = refusing(400, WORDS[0][1])
    args = ["evaluate", f"openai/{hosted.NAME}", "--env", "Bandit-v0", "--limit", "2"]
    args += ["--base-url", stub.url, "--out", str(tmp_path / "run")]
    assert main(args) == 0
    config = json.loads((tmp_path / "run/run.json").read_text())
    assert config["model_identity"]["system_message"] == "merged"
    episodes = (tmp_path / "run/episodes.jsonl").read_text()
    (tmp_path / "run/episodes.jsonl").write_text(episodes.splitlines(keepends=True)[0])
    asked = len(stub.bodies)
    assert main(args) == 0
    assert (tmp_path / "run/episodes.jsonl").read_text() == episodes
    refused = [body for body in stub.bodies[asked:] if body["messages"][0]["role"] == "system"]
    assert len(refused) == (owner == "hosted")  # by the first, short question
