"""`openai/NAME` on servers that refuse settings of a request, or list no models."""

import dataclasses
import json

import pytest

from ragen_bench.models import ask_all
from ragen_bench.models.api.errors import find_refused_settings
from tests.ragen_bench.cli.command import run

from . import hosted
from .client import GREEDY, REQUESTS, SAMPLED, model_at, refusal, texts

pytestmark = pytest.mark.slow

GAME = ["--env", "Bandit-v0", "--limit", "2", "--out", "run"]
EVALUATE = ["evaluate", f"openai/{hosted.NAME}", *GAME]


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789-secret")
    with hosted.running() as stub:
        yield stub


def model_of(stub):
    return model_at(stub.url, hosted.NAME)


def run_json(place):
    return json.loads((place / "run" / "run.json").read_text())


def flat(text):
    return " ".join(text.split())


def test_refused_settings_of_the_o_series_are_found_by_one_request(stub):
    stub.refuses = hosted.o_series
    model = model_of(stub)
    assert texts(model, REQUESTS, GREEDY) == [hosted.ANSWER] * 4
    refused, asked = stub.bodies[:3], stub.bodies[3:]
    assert [sorted({"max_tokens", "temperature", "top_p"} & {*body}) for body in refused] == [
        ["max_tokens", "temperature", "top_p"],
        ["temperature", "top_p"],
        ["top_p"],
    ]
    assert len(asked) == 1 + 4  # the first one is the question that found it out
    for body in asked:
        assert {*body} == {"model", "messages", "max_completion_tokens", "seed"}
        assert body["max_completion_tokens"] == GREEDY.max_tokens
    texts(model, REQUESTS[:1], GREEDY)
    assert len(stub.bodies) == 3 + 5 + 1
    assert model.identity() == {
        "id": hosted.NAME,
        "owned_by": "hosted",
        "refused": ["max_tokens", "temperature", "top_p"],
    }
    assert model.notes == [
        f"{stub.url} takes max_tokens as max_completion_tokens and refuses temperature (0 was "
        "asked for) and top_p (1 was asked for), so that its own default counts; run.json says so"
    ]


def test_a_server_that_refuses_nothing_gets_all_settings(stub):
    model = model_of(stub)
    texts(model, REQUESTS[:1], GREEDY)
    assert len(stub.bodies) == 2
    for body in stub.bodies:
        assert {*body} == {"model", "messages", "max_tokens", "seed", "temperature", "top_p"}
    assert "refused" not in model.identity()
    assert model.notes == []


def test_the_default_temperature_is_sent_where_it_is_taken(stub):
    stub.refuses = hosted.o_series
    texts(model_of(stub), REQUESTS[:1], SAMPLED)
    assert stub.bodies[-1]["temperature"] == 1


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        ({"message": "property 'seed' is unsupported"}, {"seed"}),
        ({"message": "`temperature` is deprecated for this model."}, {"temperature"}),
        ({"message": "Extra inputs are not permitted: seed, top_p"}, {"seed", "top_p"}),
        ({"message": "`temperature` and `top_p` cannot both be specified"}, {"top_p"}),
        ({"message": "Unknown parameter", "param": "seed"}, {"seed"}),
    ],
)
def test_refusals_of_other_servers_are_recognised(stub, error, lost):
    stub.refuses = lambda body: (400, error) if lost <= {*body} or lost & {*body} else None
    texts(model_of(stub), REQUESTS[:1], GREEDY)
    whole = {"model", "messages", "max_tokens", "seed", "temperature", "top_p"}
    assert whole - {*stub.bodies[-1]} == lost


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 9. This model supports at most 6 completion tokens",
        "max_tokens: unsupported value",  # another name for it is not given
        "temperature must be between 0 and 0.5",
        "Unknown field 'messages'",
        "The model is unsupported",
    ],
)
def test_a_value_that_is_wrong_is_not_left_out(stub, message):
    stub.refuses = lambda body: (400, {"message": message})
    error = refusal(model_of(stub))
    assert str(error) == f"{stub.url} refused a request: HTTP 400 {message}"
    assert len(stub.bodies) == 1


def test_a_limit_refused_under_both_names_ends_the_run(stub):
    words = "Unsupported parameter: 'max_tokens'; use max_completion_tokens"
    stub.refuses = lambda body: (400, {"message": words})
    assert words in str(refusal(model_of(stub)))
    assert len(stub.bodies) == 2


def test_settings_refused_during_a_run_are_not_left_out(stub):
    model = model_of(stub)
    engine = model.engine(GREEDY)
    stub.refuses = hosted.o_series
    engine.submit(REQUESTS[0])
    with pytest.raises(Exception, match="Unsupported parameter: 'max_tokens'"):
        engine.collect()
    assert "refused" not in model.identity()


def test_a_server_that_fails_when_it_is_asked_first(stub):
    stub.refuses = lambda body: (500, {"message": "out of memory"})
    error = refusal(model_of(stub))
    assert str(error).endswith("gave no answer in 3 tries, the last time: HTTP 500 out of memory")
    stub.refuses = lambda body: (400, {"message": "no", "code": "context_length_exceeded"})
    assert "; lower --max-tokens, or serve the model" in str(refusal(model_of(stub)))


def test_the_names_are_words_of_their_own():
    assert find_refused_settings("unsupported: top_p") == ("top_p",)
    assert find_refused_settings("unsupported: my_top_p_2") == ()
    assert find_refused_settings("wrong", "unsupported_value", "seed") == ("seed",)
    assert find_refused_settings("unsupported: top_p", "", "seed") == ("seed",)
    assert find_refused_settings("unsupported: top_p", "", ["seed"]) == ("top_p",)


def test_tokens_are_counted(stub):
    [completion] = ask_all(model_of(stub), REQUESTS[:1], dataclasses.replace(GREEDY, stop=""))
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 7)


def test_a_run_says_what_was_refused_and_goes_on_only_so(stub, tmp_path):
    stub.refuses = hosted.o_series
    options = [*EVALUATE, "--temperature", "0", "--base-url", stub.url]
    done = run(*options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = flat(done.stdout)
    assert said.count("Note: ") == 1
    assert "refuses temperature (0 was asked for) and top_p" in said
    recorded = run_json(tmp_path)
    assert recorded["model_identity"]["refused"] == ["max_tokens", "temperature", "top_p"]
    assert recorded["temperature"] == 0
    report = (tmp_path / "run" / "report.html").read_text()
    assert "the server&#39;s own temperature, up to 200 tokens" in report
    assert "greedy" not in report

    again = run(*options, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert run_json(tmp_path) == recorded
    stub.refuses = lambda body: None
    other = run(*options, cwd=tmp_path)
    assert other.returncode == 2
    assert "model_identity.refused: " in other.stderr


def test_doctor_names_what_is_refused(stub, tmp_path):
    stub.refuses = hosted.o_series
    done = run("doctor", *EVALUATE[1:-2], "--base-url", stub.url, cwd=tmp_path)
    assert f"warn  note      {stub.url} takes max_tokens as" in done.stdout
