"""`anthropic/NAME` and `google/NAME` with stubs that speak the protocols, over the network."""

import dataclasses
import json

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Request, RequestFailure, ServerOptions, ask_all
from ragen_bench.models.api.any_llm_model import AnyLLMModel
from tests.ragen_bench.cli.command import run

from . import hosted
from .client import GREEDY, KEY, QUESTIONS, REQUESTS, SAMPLED, refusal

pytestmark = pytest.mark.slow

KINDS = {"anthropic": hosted.Anthropic, "google": hosted.Google}
VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Go?"},
    {"role": "assistant", "content": "Up"},
    {"role": "user", "content": "And now?"},
]


@pytest.fixture(params=KINDS)
def provider(request, monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(VARIABLES[name], KEY)
    for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return request.param


@pytest.fixture
def stub(provider):
    with hosted.running(KINDS[provider]) as stub:
        yield stub


def model_of(provider, stub, **options):
    quick = {"first_wait": 0.01, "timeout": 60.0, "retries": 2, **options}
    return AnyLLMModel(provider, hosted.NAME, ServerOptions(base_url=stub.url, **quick))


def asked(provider, body):
    """Return what a request asks: the conversation as pairs, and how to sample."""
    if provider == "anthropic":
        talk = [("system", body["system"])] if "system" in body else []
        talk += [(message["role"], message["content"]) for message in body["messages"]]
        rest = {name: body[name] for name in body if name not in ("system", "messages", "model")}
        assert body["model"] == hosted.NAME
        return talk, rest
    instruction = body.get("systemInstruction")
    talk = [("system", instruction["parts"][0]["text"])] if instruction else []
    talk += [(one["role"], one["parts"][0]["text"]) for one in body["contents"]]
    others = {*body} - {"systemInstruction", "contents", "generationConfig"}
    return talk, {**body["generationConfig"], **{name: body[name] for name in others}}


def test_the_conversation_and_the_sampling_arrive(provider, stub):
    model = model_of(provider, stub, headers=(("X-Team", "blue"),), extra_body='{"top_k": 3}')
    sampling = dataclasses.replace(SAMPLED, top_p=0.75)
    [answer] = ask_all(model, [Request(TALK, "question 0", None)], sampling)
    assert answer.text == hosted.ANSWER
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish) == (11, 7, "stop")
    assert len(stub.bodies) == 2  # one finds out what it refuses
    talk, settings = asked(provider, stub.bodies[-1])
    roles = ["system", "user", "assistant" if provider == "anthropic" else "model", "user"]
    assert talk == list(zip(roles, (message["content"] for message in TALK), strict=True))
    if provider == "anthropic":
        assert stub.paths[-1] == "/v1/messages"
        assert settings == {"temperature": 1.0, "top_p": 0.75, "max_tokens": 6, "top_k": 3}
        assert stub.headers[-1]["x-api-key"] == KEY
    else:
        assert stub.paths[-1] == f"/v1beta/models/{hosted.NAME}:generateContent"
        assert settings.pop("seed") == 820595043  # as other servers are sent
        assert settings == {"temperature": 1.0, "topP": 0.75, "maxOutputTokens": 6, "top_k": 3}
        assert stub.headers[-1]["x-goog-api-key"] == KEY
    assert stub.headers[-1]["X-Team"] == "blue"
    assert model.identity() == {
        "id": hosted.NAME,
        "owned_by": provider,
        "extra_body": {"top_k": 3},
    }
    assert model.notes == []


def test_a_neutral_top_p_does_not_keep_anthropic_from_a_temperature(provider, stub):
    ask_all(model_of(provider, stub), REQUESTS[:1], GREEDY)
    _, settings = asked(provider, stub.bodies[-1])
    assert settings["temperature"] == 0
    assert settings.get("topP") == (1.0 if provider == "google" else None)
    assert "top_p" not in settings


def test_thoughts_are_recorded_apart_and_a_cut_answer_is_known(provider, stub):
    stub.thoughts, stub.ended = (
        "Up is free.",
        {"anthropic": "max_tokens"}.get(provider, "MAX_TOKENS"),
    )
    [answer] = ask_all(model_of(provider, stub), REQUESTS[:1], dataclasses.replace(GREEDY, stop=""))
    assert (answer.text, answer.reasoning) == (hosted.ANSWER, "Up is free.")
    assert answer.finish == "length"
    # Thoughts cost as answers do; Google counts them apart.
    assert answer.completion_tokens == {"anthropic": 7, "google": 7 + 5}[provider]


ENDS = {
    "anthropic": {
        "refusal": "filtered",
        "max_tokens": "length",
        "model_context_window_exceeded": "context",
        "stop_sequence": "stop",
    },
    "google": {
        "SAFETY": "filtered",
        "RECITATION": "filtered",
        "PROHIBITED_CONTENT": "filtered",
        "MALFORMED_FUNCTION_CALL": "stop",
        "UNEXPECTED_TOOL_CALL": "stop",
        "MAX_TOKENS": "length",
    },
}


@pytest.mark.parametrize("is_empty", [True, False])
def test_why_an_answer_ended(provider, stub, is_empty):
    model = model_of(provider, stub)
    model.engine(GREEDY).close()
    for stub.ended, finish in ENDS[provider].items():
        stub.answer = "" if is_empty else "Up"
        stub.has_content = not is_empty
        [answer] = ask_all(model, REQUESTS[:1], dataclasses.replace(GREEDY, stop=""))
        text = "" if finish == "context" else stub.answer
        assert (answer.text, answer.finish) == (text, finish)


def test_a_blocked_prompt_is_an_empty_answer(provider, stub):
    if provider == "google":
        model = model_of(provider, stub)
        model.engine(GREEDY).close()
        stub.said = lambda: {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11},
        }
        answer = Completion("", 11, 0, "filtered")
        assert ask_all(model, REQUESTS[:1], GREEDY) == [answer]


@pytest.mark.parametrize("reason", [None, "FINISH_REASON_UNSPECIFIED", "error"])
def test_a_piece_of_an_answer_is_asked_for_again(provider, stub, reason):
    stub.ended, stub.answer = reason, "Up, Le"
    assert "3 tries, the last time: the server sent a piece" in str(
        refusal(model_of(provider, stub), sampling=GREEDY)
    )


def test_functions_of_all_games_are_taken(provider, stub, tmp_path):
    """None is refused by the library; the stub does not call them."""
    games = [
        f"--env={env}" for env in ("Sokoban-v0", "Desk-v0", "WebShop-v0", "TwentyQuestions-v0")
    ]
    options = [*games, "--limit", "1", "--format", "tools", "--out", "run", "--retries", "0"]
    done = run(
        *("evaluate", f"{provider}/{hosted.NAME}", *options, "--base-url", stub.url), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "run" / "episodes.jsonl").read_text().splitlines()) == 4


def test_effort_is_sent_as_the_provider_names_it(provider, stub):
    model = model_of(provider, stub, extra_body='{"reasoning_effort": "low"}')
    sampling = dataclasses.replace(SAMPLED, max_tokens=4096)
    ask_all(model, REQUESTS[:1], sampling)
    _, settings = asked(provider, stub.bodies[-1])
    if provider == "anthropic":
        assert settings["thinking"] == {"type": "adaptive"}
        assert settings["output_config"] == {"effort": "low"}
    else:
        assert settings["thinkingConfig"] == {"include_thoughts": True, "thinking_budget": 1024}
    assert "reasoning_effort" not in settings
    with pytest.raises(UserError, match="--reasoning-effort is one of none, minimal, low"):
        model_of(provider, stub, extra_body='{"reasoning_effort": "much"}')


def test_a_refused_temperature_is_left_out_with_a_note(provider, stub):
    words = "`temperature` is deprecated for this model."
    stub.refuses = lambda body: (
        (400, {"message": words}) if "temperature" in asked(provider, body)[1] else None
    )
    model = model_of(provider, stub)
    assert ask_all(model, REQUESTS[:1], GREEDY)[0].text == hosted.ANSWER
    assert model.identity()["refused"] == ["temperature"]
    assert "refuses temperature (0 was asked for)" in model.notes[0]


def test_passing_errors_are_retried_and_counted(provider, stub):
    model = model_of(provider, stub)
    model.engine(GREEDY).close()
    faults = [(429, {"message": "slow"}), (529, {"message": "Overloaded"}), None]
    stub.refuses = lambda body: faults.pop(0)
    assert ask_all(model, REQUESTS[:1], GREEDY)[0].text == hosted.ANSWER
    assert len(stub.bodies) == 1 + 3  # the library's own retries are off
    stub.refuses = lambda body: (500, {"message": "out\nof memory"})
    error = refusal(model, sampling=GREEDY)
    assert str(error) == (
        f"{stub.url} gave no answer in 3 tries, the last time: HTTP 500 out of memory"
    )
    assert len(stub.bodies) == 4 + 3


@pytest.mark.parametrize(
    ("status", "words", "says"),
    [
        (401, f"no {KEY}", "refuses the key of VARIABLE (HTTP 401)"),
        (400, "API key not valid. Please pass a valid API key.", "refuses the key of VARIABLE"),
        (404, "model: gone", "refused a request: HTTP 404 model: gone"),
        (400, f"no author {KEY}", "refused a request: HTTP 400 no author ..."),
        (400, "prompt is too long: 3 tokens > 2 maximum", "; lower --max-tokens, or serve"),
        (400, "input length and `max_tokens` exceed context limit: 3", "; lower --max-tokens"),
        (
            400,
            "The input token count (3) exceeds the maximum number of tokens allowed (2).",
            "; lower --max-tokens, or serve",
        ),
    ],
)
def test_permanent_errors_are_one_line(provider, stub, status, words, says):
    stub.refuses = lambda body: (status, {"message": words})
    error = refusal(model_of(provider, stub))
    assert says.replace("VARIABLE", VARIABLES[provider]) in str(error)
    assert (error.exit_code, len(stub.bodies)) == (1, 1)
    assert KEY[:12] not in str(error)


def test_a_long_wait_that_is_asked_for_ends_the_run(provider, stub):
    stub.retry_after = "3600"
    stub.refuses = lambda body: (429, {"message": "slow"})
    assert "and asks to wait 3600 s" in str(refusal(model_of(provider, stub)))
    assert len(stub.bodies) == 1


def test_one_conversation_that_is_refused_ends_no_other(provider, stub):
    model = model_of(provider, stub)
    engine = model.engine(GREEDY)
    engine.submit(REQUESTS[0])
    assert engine.collect()[0][1].text == hosted.ANSWER
    stub.refuses = lambda body: (400, {"message": "filtered"})
    engine.submit(REQUESTS[1])
    [(_, fault)] = engine.collect()
    assert fault == RequestFailure(f"{stub.url} refused a request: HTTP 400 filtered")
    stub.refuses = lambda body: (400, {"message": "prompt is too long"})
    engine.submit(REQUESTS[2])
    with pytest.raises(UserError, match="lower --max-tokens"):
        engine.collect()
    engine.close()


def test_a_conversation_beyond_the_context_ends_its_episode(provider, stub):
    engine = model_of(provider, stub).engine(GREEDY)
    stub.refuses = lambda body: (
        (400, {"message": "prompt is too long"}) if QUESTIONS[0] in json.dumps(body) else None
    )
    engine.submit(REQUESTS[0])
    [(_, answer)] = engine.collect()
    assert answer.finish == "context"
    engine.close()


def test_a_server_that_is_not_there(provider, stub):
    gone = dataclasses.replace(
        ServerOptions(retries=1, first_wait=0.01), base_url="http://127.0.0.1:9"
    )
    error = refusal(AnyLLMModel(provider, hosted.NAME, gone))
    assert "http://127.0.0.1:9 gave no answer in 2 tries, the last time: " in str(error)


def test_a_library_without_the_providers_packages_names_the_extra(provider, monkeypatch):
    def create(*_arguments, **_settings):
        raise ImportError("the package is not there", name="package")

    monkeypatch.setattr("ragen_bench.models.api.any_llm_model.AnyLLM.create", create)
    with pytest.raises(UserError, match=r"needs package: in a checkout pip install '.\[providers"):
        AnyLLMModel(provider, hosted.NAME)


def test_a_missing_key_is_refused(provider, monkeypatch):
    monkeypatch.delenv(VARIABLES[provider])
    with pytest.raises(UserError, match=f"wants a key: set {VARIABLES[provider]}"):
        AnyLLMModel(provider, hosted.NAME)


def test_a_run_is_recorded_priced_and_resumed(provider, stub, tmp_path):
    (tmp_path / "prices.toml").write_text(
        f'currency = "USD"\n[[price]]\nmodels = ["{provider}/*"]\nprompt = 1e6\ncompletion = 1e7\n'
    )
    game = ["--env", "Bandit-v0", "--limit", "2", "--format", "plain", "--out", "run"]
    options = ["evaluate", f"{provider}/{hosted.NAME}", *game, "--prices", "prices.toml"]
    done = run(*options, "--base-url", stub.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["cost"] == {"amount": 2 * (11 + 7 * 10), "currency": "USD"}
    again = run(*options, "--base-url", stub.url, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 episodes are there already" in " ".join(again.stdout.split())
    texts = [file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert not [text for text in texts if KEY.encode() in text]
    assert done.stderr == again.stderr == ""
    elsewhere = [*options, "--out", "other", "--constrain"]
    constrained = run(*elsewhere, "--base-url", stub.url, cwd=tmp_path)
    assert constrained.returncode == 2
    assert "--constrain does not work with" in constrained.stderr


def test_an_opponent_elsewhere_gets_neither_url_nor_headers(provider, stub, tmp_path):
    with hosted.running() as other:
        done = run(
            *("evaluate", f"openai/{hosted.NAME}", "--base-url", other.url),
            *("--env", "TwentyQuestionsModel-v0", "--limit", "1", "--header", "X-Team: blue"),
            *("--opponent", f"{provider}/{hosted.NAME}", "--out", "run", "--retries", "0"),
            cwd=tmp_path,
            ANTHROPIC_BASE_URL=stub.url,
            GOOGLE_GEMINI_BASE_URL=stub.url,
        )
    assert done.returncode == 0, done.stderr
    assert stub.bodies
    assert other.bodies
    assert {headers["X-Team"] for headers in stub.headers} == {None}
    assert {headers["X-Team"] for headers in other.headers} == {"blue"}
    assert {headers["Authorization"] for headers in other.headers} == {"Bearer none"}
