"""`--stream` over the network: what is asked, what comes back, and servers that stream alone."""

import dataclasses
import json
import threading
from contextlib import closing

import pytest

from ragen_bench.models import ServerOptions, ask_all
from ragen_bench.models.api import response
from ragen_bench.models.api.any_llm_model import AnyLLMModel
from tests.ragen_bench.cli.command import run

from . import hosted, proxy
from .client import GREEDY, KEY, REQUESTS, SAMPLED, model_at, refusal
from .test_stream import event, written

pytestmark = pytest.mark.slow
OPTIONS = {"include_usage": True}


class Streaming(hosted.Hosted):
    """Streams where it is asked to; `breaks` of the first streams end before their end."""

    breaks = 0
    only = ""
    without = ""

    def reply(self, body):
        status, reply = super().reply(body)
        if status != 200:
            return status, reply
        if self.without and "stream_options" in body:
            return 400, {"error": {"message": self.without}}
        if not body.get("stream"):
            return (400, {"error": {"message": self.only}}) if self.only else (200, reply)
        self.breaks -= 1
        pieces = list(self.pieces(body, reply))
        return 200, iter(pieces[: len(pieces) // 2] if self.breaks >= 0 else pieces)

    def pieces(self, body, reply):
        yield ": working\n\n"
        for letter in self.answer:
            yield written({"choices": [{"index": 0, "delta": {"content": letter}}]}, done=False)
        ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        yield written(ended, done=False)
        usage = [{"choices": [], "usage": reply["usage"]}] if "stream_options" in body else []
        yield written(*usage)


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with hosted.running(Streaming) as stub:
        yield stub


def answers_of(stub, count=2, **options):
    model = model_at(stub.url, hosted.NAME, **options)
    return model, ask_all(model, REQUESTS[:count], GREEDY)


def test_a_streamed_answer_is_the_unstreamed_one(stub):
    _, plain = answers_of(stub)
    assert not any("stream" in body for body in stub.bodies)
    model, streamed = answers_of(stub, stream=True)
    assert streamed == plain
    assert plain[0].completion_tokens == 7
    assert [body.get("stream_options") for body in stub.bodies] == [None] * 3 + [OPTIONS] * 3
    assert model.notes == []
    assert model.identity() == {"id": hosted.NAME, "owned_by": "hosted"}


@pytest.mark.xdist_group("language-model")
def test_llama_cpp_streams_the_same_answers(server, between):
    plain = ask_all(model_at(server), REQUESTS, SAMPLED)
    streamed = ask_all(model_at(server, stream=True), REQUESTS, SAMPLED)
    assert streamed == plain
    assert all(answer.completion_tokens for answer in streamed)
    between.plan = [proxy.cut]
    assert ask_all(model_at(between.url, stream=True), REQUESTS[:1], SAMPLED) == plain[:1]
    assert len(between.bodies) == 2


def test_a_stream_that_breaks_is_asked_for_again(stub):
    stub.breaks = 2
    _, streamed = answers_of(stub, 1, stream=True)
    assert streamed[0].text == hosted.ANSWER
    assert len(stub.bodies) == 4
    stub.breaks = 99
    said = str(refusal(model_at(stub.url, hosted.NAME, stream=True)))
    assert said.endswith("in 3 tries, the last time: the stream ended before the answer did")


def test_a_server_that_refuses_stream_options_is_asked_without(stub):
    stub.without = "Unrecognized request argument supplied: stream_options"
    _, streamed = answers_of(stub, stream=True)
    assert [answer.text for answer in streamed] == [hosted.ANSWER] * 2
    assert ["stream_options" in body for body in stub.bodies] == [True, False, False, False]


def test_a_server_that_answers_streamed_requests_alone_is_found_out(stub):
    stub.only = "This model only supports streaming; set stream to true"
    model, answers = answers_of(stub)
    assert [answer.text for answer in answers] == [hosted.ANSWER] * 2
    assert ["stream" in body for body in stub.bodies] == [False, True, True, True]
    assert model.notes == [
        f"{stub.url} answers streamed requests alone, so it is asked so, as with --stream"
    ]


def test_a_server_that_refuses_both_is_refused_with_its_first_words(stub):
    stub.only = "This model only supports streaming"
    stub.refuses = lambda body: (400, {"message": "no stream"}) if body.get("stream") else None
    assert "only supports streaming" in str(refusal(model_at(stub.url, hosted.NAME)))
    assert ["stream" in body for body in stub.bodies] == [False, True]


def test_the_time_limit_is_that_of_the_whole_stream(stub):
    told = threading.Event()

    def slow(body, reply):
        for _ in range(600):  # a minute, unless it is told
            if told.wait(0.1):
                return
            yield ": working\n\n"

    stub.reply = lambda body: (200, slow(body, None))
    model = model_at(stub.url, hosted.NAME, stream=True, timeout=0.5, retries=0)
    assert "no answer within 0.5 s, see --timeout" in str(refusal(model))
    told.set()


def test_an_endless_stream_is_bounded(stub, monkeypatch):
    monkeypatch.setattr(response, "_MAX_STREAM_BYTES", 1 << 20)
    stub.reply = lambda body: (200, iter([b": working\n\n" * (1 << 14)] * 99))
    said = str(refusal(model_at(stub.url, hosted.NAME, stream=True, retries=0)))
    assert said.endswith("the last time: the server sent more than 1 MiB")


def test_the_command_and_a_run_that_goes_on_without_it(stub, tmp_path):
    evaluate = [
        *("evaluate", f"openai/{hosted.NAME}", "--env", "Bandit-v0", "--base-url", stub.url),
        *("--out", "run", "--limit"),
    ]
    done = run(*evaluate, "2", "--stream", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())
    assert not any("stream" in name for name in recorded)
    again = run(*evaluate, "2", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "Resuming run: 2 episodes are there already" in again.stdout
    refused = run("evaluate", "random", "--stream", "--env", "Bandit-v0", cwd=tmp_path)
    assert "--stream: for anthropic/, google/ and openai/ only" in refused.stderr
    stub.only = "only streamed requests are answered"
    noted = run(*evaluate[:-2], "other", "--limit", "2", cwd=tmp_path)
    assert "answers streamed requests alone" in " ".join(noted.stdout.split())


class AnthropicStream(hosted.Anthropic):
    def reply(self, body):
        status, said = super().reply(body)
        if status != 200 or not body.get("stream"):
            return status, said
        [block] = said.pop("content")
        start = {**said, "content": [], "stop_reason": None}
        delta = {"type": "text_delta", "text": block["text"]}
        return 200, iter(
            [
                event("message_start", message=start),
                event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
                event("content_block_delta", index=0, delta=delta),
                event("content_block_stop", index=0),
                event("message_delta", delta={"stop_reason": self.ended}, usage=said["usage"]),
                event("message_stop"),
            ]
        )


class GoogleStream(hosted.Google):
    def reply(self, body):
        status, said = super().reply(body)
        return status, iter([written(said, ends="\r\n", done=False)]) if status == 200 else said


@pytest.mark.parametrize(
    ("provider", "kind"), [("anthropic", AnthropicStream), ("google", GoogleStream)]
)
def test_the_other_protocols(provider, kind, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with hosted.running(kind) as stub:
        options = ServerOptions(base_url=stub.url, first_wait=0.01, retries=0, stream=True)
        model = AnyLLMModel(provider, hosted.NAME, options)
        with closing(model.engine(dataclasses.replace(GREEDY, max_tokens=60))) as engine:
            engine.submit(REQUESTS[0])
            [(_, answer)] = engine.collect()
        assert answer.text == hosted.ANSWER
        assert (answer.prompt_tokens, answer.completion_tokens, answer.finish) == (11, 7, "stop")
        if provider == "anthropic":
            assert stub.bodies[-1]["stream"] is True
        else:
            assert stub.paths[-1].startswith(f"/v1beta/models/{hosted.NAME}:streamGenerateContent")
