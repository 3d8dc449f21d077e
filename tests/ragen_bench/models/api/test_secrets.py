"""Errors of servers that repeat a part of a key: none of it is printed or recorded."""

import json
import random

import pytest

from ragen_bench.cli import main
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.secrets import hide_parts
from tests.growth import LINEAR, growth

from . import hosted
from .client import GREEDY, REQUESTS, model_at, refusal, texts
from .test_openai_secrets import FORMS, ODD, PLACEHOLDERS

KEY = "sk-proj-Zq7RtB2mXv9LwK4hPd8sYc3jNf6gTa5e"
KEYS = [KEY, "0123456789abcdef" * 4, "token-abc123", "correct-horse-battery-staple", ODD]


def hidden(text, key=KEY):
    return hide_parts(text, ServerKey(key))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"Incorrect API key provided: sk-proj-****{KEY[-4:]}.", "...****...."),
        (f"the key ...{KEY[-4:]} is used up", "the key ...... is used up"),
        (f"key {KEY[:8]}...{KEY[-6:]} is blocked", "key ......... is blocked"),
        (f"a {KEY[12:16]} in the middle", "a ... in the middle"),
        ("this project has tokens", "this project has tokens"),
        ("no part: T a 5 e, gTa", "no part: T a 5 e, gTa"),
    ],
)
def test_parts_are_hidden_and_words_stay(said, told):
    assert hidden(said).endswith(told)


def test_every_part_in_every_form():
    rng = random.Random(3)
    for _ in range(600):
        key, form = rng.choice(KEYS), rng.choice(list(FORMS))
        start = rng.randrange(len(key) - 5)
        end = rng.randrange(start + 6, len(key) + 1)
        said = FORMS[form](key[start:end])
        told = hidden(f"no: <{said}>", key)
        assert "..." in told, (key, form, key[start:end])
        assert said not in told, (key, form, key[start:end])


@pytest.mark.parametrize("key", PLACEHOLDERS)
def test_placeholders_stay(key):
    assert hidden(f"no: {key} {key[-4:]}", key) == f"no: {key} {key[-4:]}"


@pytest.mark.parametrize(
    "piece", ["\\", "%25", "&amp;", "&#0", KEY[:11], KEY, "s\\u00", "a", "Zq7"]
)
@pytest.mark.slow
def test_the_search_grows_with_the_text(piece):
    assert growth(hidden, lambda n: piece * n) < LINEAR


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_no_part_of_a_key_is_recorded_or_printed(tmp_path, monkeypatch, capsys, status):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = f"Incorrect API key: {KEY[:7]}****{KEY[-4:]} ({KEY[-6:].encode().hex()})"
    with hosted.running() as stub:
        stub.refuses = lambda body: None if len(stub.bodies) % 2 else (status, {"message": message})
        options = ["--env", "Bandit-v0", "--limit", "3", "--retries", "0", "--base-url", stub.url]
        assert main(["evaluate", f"openai/{hosted.NAME}", *options, "--out", str(tmp_path / "run")])
    said = capsys.readouterr()
    files = [file.read_text() for file in (tmp_path / "run").glob("*.json*")]
    for text in (said.out, said.err, *files):
        assert KEY[-4:] not in text
        assert KEY[-4:].encode().hex() not in text


@pytest.mark.slow
def test_a_broken_reply_and_an_unreadable_answer_bring_no_part(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with hosted.running() as stub:
        stub.refuses = lambda body: (400, {"message": KEY[-4:], "type": "x"})
        assert KEY[-4:] not in str(refusal(model_at(stub.url, hosted.NAME)))
        error = {"message": "tool_use_failed", "failed_generation": f"It is {KEY}"}
        stub.refuses = lambda body: (400, error)
        assert json.dumps(texts(model_at(stub.url, hosted.NAME), REQUESTS[:1], GREEDY)) == (
            '["It is ..."]'
        )
