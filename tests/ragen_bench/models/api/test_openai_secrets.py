"""`openai/NAME`: keys that servers repeat are taken out in any form, and placeholders are not."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.response import read_completion
from ragen_bench.models.api.secrets import is_secret, remove_key, remove_secrets
from tests.growth import LINEAR, growth

from . import hosted
from .client import GREEDY, KEY, REQUESTS, model_at, refusal, texts
from .raw import replying

pytestmark = pytest.mark.slow

ODD = 'a"b\\c/d&e<f>%g +h1'
PLACEHOLDERS = [
    *("x", "-", "1", "Up", "n", "EMPTY", "none", "no-key", "ollama", "lm-studio", "dummy"),
    *("not-needed", "sk-no-key-required", "OPENAI_API_KEY", "placeholder", "00000000", "xxxxxxxx"),
    *("your-api-key-here", "Up Up Down Down", "a1b2c3d"),
]
SECRETS = [KEY, ODD, "token-abc123", "hf_QwErTyUiOpAsDfGh", "correct-horse-battery-staple"]
FORMS = {
    "plain": str,
    "JSON": lambda key: json.dumps(key)[1:-1],
    "JSON, all escaped": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "JSON in JSON": lambda key: json.dumps(json.dumps(key)),
    "JSON in JSON, all escaped": lambda key: "".join(f"\\\\u{ord(c):04x}" for c in key),
    "JSON with escaped slashes": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "Python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    "address": lambda key: quote(key, safe=""),
    "form": quote_plus,
    "address, all escaped": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "address in an address": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML": html.escape,
    "HTML in HTML": lambda key: html.escape(html.escape(key)),
    "HTML, all escaped": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "HTML, in hex": lambda key: "".join(f"&#x{ord(c):04X};" for c in key),
    "Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "Base64 behind a name": lambda key: base64.b64encode(f"me:{key}".encode()).decode(),
    "Base64 within": lambda key: base64.urlsafe_b64encode(f"user:{key}:etc".encode()).decode(),
    "hex digits": lambda key: key.encode().hex().upper(),
}


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with hosted.running() as stub:
        yield stub


def test_what_is_a_secret():
    assert [key for key in PLACEHOLDERS if is_secret(key)] == []
    assert [key for key in SECRETS if not is_secret(key)] == []


@pytest.mark.parametrize("key", ["x", "-", "Up", "1", "n", "EMPTY", "sk-no-key-required"])
def test_a_placeholder_changes_no_answer(stub, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    stub.answer = f"<think>1-x, {key}: EMPTY</think><answer>Up</answer>"
    model = model_at(stub.url, hosted.NAME, headers=(("X-Title", "EMPTY answer think"),))
    assert texts(model, REQUESTS[:1], GREEDY) == [stub.answer]
    assert model.identity() == {"id": hosted.NAME, "owned_by": "hosted"}


@given(st.text(), st.sampled_from(PLACEHOLDERS), st.text())
def test_placeholders_are_never_replaced(before, key, after):
    text = before + key + after
    assert remove_secrets(text, ServerKey(key, others=tuple(PLACEHOLDERS))) == text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", SECRETS)
def test_every_form_is_found(form, key):
    said = FORMS[form](key)
    clean = remove_key(f"<{said}> {said}", key)
    assert key not in clean
    assert said not in clean
    assert clean.count("...") == 2
    if not form.startswith(("Base64", "JSON in JSON")):
        assert clean == "<...> ..."


@given(st.text("sk-0123456789-secret. x", max_size=60), st.integers(0, 20))
def test_only_the_key_is_replaced(text, kept):
    cut = text + KEY[:kept] + text
    clean = remove_key(cut, KEY)
    assert KEY[:12] not in clean
    if KEY[:12] not in cut:
        assert clean == cut


@given(st.text("\\u0073%25&amp;#x+sk-", max_size=60))
def test_text_without_the_key_stays(text):
    assert remove_key(text, "Zq7!Zq8!Zq9!") == text


@pytest.mark.parametrize("piece", ["\\", "%25", "&amp;", "&#0", KEY[:11], KEY, "s\\u00", "a"])
@pytest.mark.parametrize("key", [KEY, ODD])
def test_the_search_grows_with_the_text(piece, key):
    assert growth(lambda text: remove_key(text, key), lambda n: piece * n) < LINEAR


@pytest.mark.parametrize("form", ["plain", "JSON, all escaped", "address, all escaped", "Base64"])
def test_no_form_of_a_key_reaches_an_answer(stub, monkeypatch, form):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    stub.answer = f"It is {FORMS[form](KEY)}"
    [answer] = texts(model_at(stub.url, hosted.NAME), REQUESTS[:1], GREEDY)
    assert "..." in answer
    assert answer.startswith("It is ")
    assert KEY not in answer
    assert FORMS[form](KEY) not in answer


def test_the_arguments_of_a_call_hold_no_key():
    said = json.dumps(json.dumps({"to": KEY})).replace("sk-0", "\\u0073k-0")
    call = {"function": {"name": KEY, "arguments": said}}
    body = json.dumps({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    text = read_completion(body, "", 0, lambda t: remove_key(t, KEY), calls=True).text
    assert "k-0123456789" not in text
    assert text.count("...") == 2


def test_a_model_s_description_holds_no_key(stub, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    meta = {KEY: {FORMS["JSON, all escaped"](KEY): [KEY]}}
    stub.listing = 200, {"data": [{"id": hosted.NAME, "owned_by": KEY, "meta": meta}]}
    model = model_at(stub.url, hosted.NAME)
    assert KEY not in model.probe()
    assert model.identity()["meta"] == {"...": {"...": ["..."]}}


@pytest.mark.parametrize(
    "payload",
    [
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n",
        f"{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\nContent-Length: 120\r\n\r\n{FORMS['JSON, all escaped'](KEY)}",
    ],
    ids=["header", "status", "body"],
)
def test_an_invalid_response_brings_no_key_into_a_message(monkeypatch, payload):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with replying(payload.encode()) as server, pytest.raises(UserError) as caught:
        model_at(server.url, retries=0).probe()
    assert KEY[:12] not in str(caught.value)
    assert "\\u0073" not in str(caught.value)


@pytest.mark.parametrize("form", ["plain", "JSON, all escaped", "address, all escaped", "Base64"])
def test_no_form_of_a_key_reaches_a_message(stub, monkeypatch, form):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = FORMS[form](KEY)
    for message in (said, {"message": said}, {"detail": [said]}):
        stub.refuses = lambda body, message=message: (400, message)
        error = str(refusal(model_at(stub.url, hosted.NAME)))
        assert "..." in error
        assert KEY not in error
        assert said not in error
