"""Servers whose chat template refuses the system role, or drops its text in silence."""

import json
import threading

import pytest

from ragen_bench.cli import main
from ragen_bench.models import Request
from ragen_bench.models.api import served_template
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


@pytest.fixture(params=["hosted", "sglang", "vllm", "llamacpp"])
def dropping(stub, request):
    """A server that drops system texts, and the kinds of which it is."""
    stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": request.param}]}
    stub.keeps = False

    def count(body):
        kept = [m for m in body["messages"] if m["role"] != "system" or stub.keeps]
        return sum(len(message["content"].split()) + 4 for message in kept)

    def reply(body):
        said = hosted.Hosted.said(stub)
        said["usage"]["prompt_tokens"] = count(body)
        return 200, said

    stub.reply = reply
    if request.param == "vllm":
        stub.shows["/tokenize"] = lambda body: {"tokens": [7] * count(body)}
    if request.param == "llamacpp":
        stub.shows["/apply-template"] = lambda body: {"prompt": "p" * count(body)}
    return stub


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
    assert [body["messages"][0]["role"] for body in stub.bodies + stub.probes].count("system") == 1


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
    assert all(body["messages"][0]["role"] == "user" for body in stub.bodies[asked:])


def test_a_dropped_text_is_noticed_before_the_first_episode(dropping):
    model = model_at(dropping.url, hosted.NAME, retries=0, concurrency=1)
    assert texts(model, ASKED, GREEDY) == [hosted.ANSWER] * 2
    assert model.identity()["system_message"] == "merged"
    assert "drops system messages in silence, so that theirs lead" in " ".join(model.notes)
    system, first, *rest = ASKED[1].messages
    merged = {"role": "user", "content": f"{system['content']}\n\n{first['content']}"}
    assert dropping.bodies[-1]["messages"] == [merged, *rest]
    shown = bool(dropping.shows)
    assert len(dropping.probes) == (0 if shown else 3)
    assert texts(model, ASKED, GREEDY) == [hosted.ANSWER] * 2
    assert len(dropping.probes) == (0 if shown else 3)


def test_a_kept_text_stays_where_it_is(dropping):
    dropping.keeps = True
    model = model_at(dropping.url, hosted.NAME, retries=0, concurrency=1)
    texts(model, ASKED, GREEDY)
    assert "system_message" not in model.identity()
    assert dropping.bodies[-1]["messages"] == ASKED[1].messages
    assert len(dropping.probes) == (0 if dropping.shows else 2)


UNTOLD = {
    "a number that never changes": lambda reply: reply["usage"].update(prompt_tokens=500),
    "none": lambda reply: reply.pop("usage"),
    "what its cache lacks": lambda reply: reply["usage"].update(prompt_tokens=1),
}


@pytest.mark.parametrize("change", UNTOLD.values(), ids=UNTOLD)
def test_made_up_counts_are_not_believed(stub, change):
    def said():
        reply = hosted.Hosted.said(stub)
        change(reply)
        return reply

    stub.said = said
    model = model_at(stub.url, hosted.NAME, retries=0, concurrency=1)
    texts(model, ASKED, GREEDY)
    assert model.identity() == {"id": hosted.NAME, "owned_by": "hosted"}


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_refused_question_of_one_token_is_no_matter(stub, status):
    stub.refuses = lambda body: (status, {"message": "no"}) if hosted.is_probe(body) else None
    model = model_at(stub.url, hosted.NAME, retries=7, concurrency=1)
    assert texts(model, ASKED, GREEDY) == [hosted.ANSWER] * 2
    assert len(stub.probes) == (2 if status == 500 else 1)


def test_a_run_keeps_to_its_record_where_a_text_is_dropped(dropping, tmp_path):
    args = ["evaluate", f"openai/{hosted.NAME}", "--env", "Bandit-v0", "--limit", "2"]
    args += ["--base-url", dropping.url, "--out", str(tmp_path / "run")]
    for keeps in (True, False):
        out = tmp_path / str(keeps)
        dropping.keeps = keeps
        assert main([*args[:-1], str(out)]) == 0
        identity = json.loads((out / "run.json").read_text())["model_identity"]
        assert identity.get("system_message") == (None if keeps else "merged")
        lines = (out / "episodes.jsonl").read_text().splitlines(keepends=True)
        (out / "episodes.jsonl").write_text(lines[0])
        dropping.keeps = not keeps
        asked = len(dropping.bodies)
        assert main([*args[:-1], str(out)]) == 0
        roles = {body["messages"][0]["role"] for body in dropping.bodies[asked:]}
        assert roles == {"system" if keeps else "user"}
        assert json.loads((out / "run.json").read_text())["model_identity"] == identity


@pytest.mark.parametrize(
    ("owner", "path"), [("vllm", "/tokenize"), ("llamacpp", "/apply-template")]
)
def test_a_server_that_never_shows_a_prompt_does_not_hold_up_the_run(
    stub, monkeypatch, owner, path
):
    monkeypatch.setattr(served_template, "_LONGEST_LOOK", 0.1)
    stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": owner}]}
    ended, shown = threading.Event(), []
    stub.shows[path] = lambda _: {"shown": shown.append(ended.wait(60))}
    model = model_at(stub.url, hosted.NAME, retries=0)
    assert texts(model, ASKED, GREEDY) == [hosted.ANSWER] * 2
    assert not shown
    ended.set()
    assert "system_message" not in model.identity()


@pytest.mark.slow
def test_llama_cpp_renders_what_is_measured(server):
    model = model_at(server)
    model.probe()
    system, *rest = ASKED[0].messages
    short, long = (
        model._loop.run(model.measure_prompt([{**system, "content": content}, *rest]))
        for content in ("-", "-" * 41)
    )
    assert long == short + 40
    assert not model.drops("system", GREEDY)
    assert not model.drops("thought", GREEDY)
