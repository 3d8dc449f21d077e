"""`openai/NAME`: headers, further fields, top-p, and servers that list no models."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.cli import main
from ragen_bench.errors import UserError
from ragen_bench.models.api.options import hide_headers, make_extra_body, parse_header
from ragen_bench.models.api.response import read_completion
from tests.ragen_bench.cli.command import run

from . import hosted
from .client import GREEDY, REQUESTS, model_at, refusal, texts

pytestmark = pytest.mark.slow

GAME = ["--env", "Bandit-v0", "--limit", "2", "--out", "run"]
EVALUATE = ["evaluate", f"openai/{hosted.NAME}", *GAME]
SECRET = "tok-0123456789-abcdef"


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with hosted.running() as stub:
        yield stub


def model_of(stub, **options):
    return model_at(stub.url, hosted.NAME, **options)


def run_json(place):
    return json.loads((place / "run" / "run.json").read_text())


@pytest.mark.parametrize(
    "listing",
    [(404, {"detail": "Not Found"}), (405, {}), (501, {}), (200, {"object": "list", "data": []})],
)
def test_a_server_that_lists_no_models_is_played_with_a_note(stub, listing):
    stub.listing = listing
    model = model_of(stub)
    assert texts(model, REQUESTS[:1], GREEDY) == [hosted.ANSWER]
    assert model.probe() == f"{stub.url}, which lists no models"
    assert model.notes == [f"{stub.url} lists no models, so that {hosted.NAME} is asked for unseen"]
    assert model.identity() == {"listed": False}


def test_a_server_that_lists_other_models_is_refused(stub):
    stub.listing = 200, {"data": [{"id": "other"}]}
    assert str(refusal(model_of(stub))).endswith("does not serve 'o9-mini'; it serves other")


def test_an_unusable_server_is_refused_before_the_run(stub, tmp_path):
    stub.listing = 404, {}
    stub.refuses = lambda body: (404, {"message": "no such page"})
    done = run(*EVALUATE, "--base-url", stub.url, cwd=tmp_path)
    assert done.returncode == 1
    assert "HTTP 404 no such page; does the base URL lack its /v1?" in done.stderr
    assert not (tmp_path / "run").exists()


def test_headers_and_fields_reach_the_server_and_only_fields_the_record(stub, tmp_path):
    stub.answer = f"<answer>Up</answer> Bearer {SECRET}"
    stub.listing = 404, {"message": SECRET}
    further = ["--header", f"X-Auth: Bearer {SECRET}", "--header=X-Title: my runs, all of them"]
    fields = ["--extra-body", '{"top_k": 20, "provider": {"only": ["x"]}}']
    options = [*further, *fields, "--reasoning-effort", "low", "--top-p", "0.9"]
    done = run(*EVALUATE, *options, "--base-url", stub.url, "--format", "answer", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Note: " + stub.url + " lists no models" in " ".join(done.stdout.split())
    for body, headers in zip(stub.bodies, stub.headers, strict=True):
        assert body["top_k"] == 20
        assert body["provider"] == {"only": ["x"]}
        assert body["reasoning_effort"] == "low"
        assert body["top_p"] == 0.9
        assert headers["X-Auth"] == f"Bearer {SECRET}"
        assert headers["X-Title"] == "my runs, all of them"
    recorded = run_json(tmp_path)
    assert recorded["top_p"] == 0.9
    assert recorded["model_identity"] == {
        "listed": False,
        "extra_body": {"top_k": 20, "provider": {"only": ["x"]}, "reasoning_effort": "low"},
    }
    assert "'--header=X-Title: ...'" in recorded["command"]
    assert "--header 'X-Auth: ...'" in recorded["command"]
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 5
    for text in (done.stdout.encode(), done.stderr.encode(), *files):
        assert SECRET[:12].encode() not in text
        assert b"my runs" not in text
    assert "temperature 0.5, top-p 0.9" in (tmp_path / "run" / "report.html").read_text()

    other = run(*EVALUATE, "--base-url", stub.url, "--format", "answer", cwd=tmp_path)
    assert other.returncode == 2
    assert "top_p: 0.9 there, null here" in other.stderr


def test_default_options_are_not_recorded(stub, tmp_path):
    done = run(*EVALUATE, "--base-url", stub.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recorded = run_json(tmp_path)
    assert recorded["model_identity"] == {"id": hosted.NAME, "owned_by": "hosted"}
    assert "top_p" not in recorded
    assert stub.bodies[-1]["top_p"] == 1


def test_settings_have_directories_of_their_own(stub, tmp_path):
    options = ["evaluate", f"openai/{hosted.NAME}", *GAME[:-2], "--base-url", stub.url]
    for extra in ([], ["--top-p", "0.5"], ["--reasoning-effort", "low"], ["--extra-body", "{}"]):
        done = run(*options, *extra, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    first = f"openai-{hosted.NAME}_Bandit-v0_test_seed0"
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names[0].startswith(f"{first}_body-")
    # Nothing is added by an empty object.
    assert names[1:] == [f"{first}_limit2", f"{first}_p0.5_limit2"]


def test_headers_repeated_by_a_server_are_removed_from_messages(stub):
    stub.refuses = lambda body: (400, {"message": f"who is {SECRET}? or x"})
    headers = (("Authorization", f"Bearer {SECRET}"), ("X", "x"))
    assert str(refusal(model_of(stub, headers=headers))).endswith("HTTP 400 who is ...? or x")
    assert SECRET not in repr(model_of(stub, headers=headers).options)


def test_headers_that_look_like_a_reply_break_none(stub):
    headers = (("A", "completion_tokens"), ("B", "assistant"), ("C", hosted.NAME * 2))
    model = model_of(stub, headers=headers)
    assert texts(model, REQUESTS[:1], GREEDY) == [hosted.ANSWER]
    named = model_at(stub.url, hosted.NAME, headers=(("X-Model", hosted.NAME),))
    assert texts(named, REQUESTS[:1], GREEDY) == [hosted.ANSWER]


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=4))
def test_only_texts_are_cleaned(extra):
    reply = {"choices": [{"message": {"content": "key-a"}}], "extra": extra}
    assert read_completion(json.dumps(reply), "", 0, lambda text: text[::-1]).text == "a-yek"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--header", SECRET], "--header is 'NAME: VALUE' in ASCII"),
        (["--header", f"X y: {SECRET}"], "--header is 'NAME: VALUE' in ASCII"),
        (["--header", f"X: {SECRET}\n"], None),
        (["--header", f"X: {SECRET}\nY: z"], "--header is 'NAME: VALUE' in ASCII"),
        (["--header", "X:"], "--header is 'NAME: VALUE' in ASCII"),
        (["--header", "content-length: 7"], "--header: content-length follows from the request"),
        (["--extra-body", "{"], "--extra-body is an object of JSON, such as"),
        (["--extra-body", "[1]"], "--extra-body is an object of JSON, such as"),
        (["--extra-body", ""], "--extra-body is an object of JSON, such as"),
        (["--extra-body", '{"a": NaN}'], "--extra-body is an object of JSON, such as"),
        (["--extra-body", '{"temperature": 0}'], "temperature cannot be set there; use --temp"),
        (["--extra-body", '{"stream": true}'], "stream cannot be set there; use --stream"),
        (["--extra-body", '{"stream_options": {}}'], "cannot be set there; the harness decides"),
        (["--reasoning-effort", ""], "--reasoning-effort is empty"),
        (["--top-p", "0"], "--top-p must be above 0 and at most 1, got 0.0"),
        (["--top-p", "nan"], "--top-p must be above 0 and at most 1, got nan"),
    ],
)
def test_a_mistake_gets_one_line_without_the_secret(tmp_path, monkeypatch, capsys, options, says):
    monkeypatch.chdir(tmp_path)
    closed = ["--base-url", "http://127.0.0.1:9/v1", "--retries", "0"]
    assert main(["evaluate", f"openai/{hosted.NAME}", *closed, *options]) == (2 if says else 1)
    errors = capsys.readouterr().err
    assert (says or "does not say what it serves") in errors
    assert errors.count("\n") == 1
    assert SECRET[:12] not in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", ["random", "oracle", "python:math:sqrt"])
def test_models_that_have_no_top_p_say_so(tmp_path, monkeypatch, capsys, model):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", model, *GAME, "--top-p", "0.9"]) == 2
    assert (
        f"--top-p does not work with {model}; remove it, or use anthropic/"
        in capsys.readouterr().err
    )
    assert main(["evaluate", "random", *GAME, "--header", "a: b"]) == 2
    assert (
        "--header: for anthropic/, google/ and openai/ only, not for 'random'"
        in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


def test_extra_fields_have_a_canonical_form():
    assert make_extra_body(None, None) == make_extra_body("{}", None) == ""
    assert (
        make_extra_body('{"b": 1, "a": 2}', "low") == '{"a": 2, "b": 1, "reasoning_effort": "low"}'
    )
    assert parse_header("  X-A:b c ") == ("X-A", "b c")
    with pytest.raises(UserError):
        make_extra_body('{"a": ' * 100_000, None)


def test_headers_leave_the_command():
    words = ["evaluate", "--header", "A: b", "--head=A: b", "m"]
    assert hide_headers(words, ("A: b",)) == [
        "evaluate",
        "--header",
        "A: ...",
        "--head=A: ...",
        "m",
    ]


def test_top_p_is_sent(stub):
    texts(model_of(stub), REQUESTS[:1], dataclasses.replace(GREEDY, top_p=0.25))
    assert stub.bodies[-1]["top_p"] == 0.25
