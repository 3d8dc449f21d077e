"""Replies of any size and redirects to anywhere: bounded, and refused."""

import gzip
import json
import tracemalloc
import zlib

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import ServerOptions
from ragen_bench.models.api.any_llm_model import AnyLLMModel

from . import hosted
from .client import GREEDY, KEY, REQUESTS, model_at, refusal, texts
from .raw import reply, replying

pytestmark = pytest.mark.slow

MIB = 1 << 20
LISTED = json.dumps({"data": [{"id": hosted.NAME, "owned_by": "hosted"}]}).encode()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asked(payload, **options):
    """Return what is said of a server that replies so, and the most memory that it took."""
    tracemalloc.start()
    try:
        with replying(payload) as server, pytest.raises(UserError) as caught:
            model_at(server.url, hosted.NAME, retries=0, **options).probe()
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_reply_without_end_is_not_read_whole():
    said, held = asked(reply(b" " * (40 * MIB)))
    assert "the server sent more than 16 MiB" in said
    assert held < 120 * MIB  # with the payload's own 40, and two copies of what was read


def test_a_packed_reply_is_bounded_when_unpacked():
    bomb = gzip.compress(bytes(200 * MIB), 1)
    said, held = asked(reply(bomb, Content_Encoding="gzip"))
    assert "the server sent more than 16 MiB" in said
    assert held < 150 * MIB


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "\x1b[2J"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding):
    said, _ = asked(reply(b"x", Content_Encoding=encoding))
    assert "the server packed its reply as" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_accepted_encodings_are_unpacked(pack):
    encoding = {gzip.compress: "gzip", zlib.compress: "deflate"}[pack]
    with replying(reply(pack(LISTED), Content_Encoding=encoding)) as server:
        assert "serves o9-mini by hosted" in model_at(server.url, hosted.NAME).probe()
        assert b"Accept-Encoding: gzip, deflate\r\n" in server.asked[0]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temp", "308 Perm"])
def test_another_server_gets_nothing(status):
    with replying(reply(LISTED)) as other:
        said, _ = asked(reply(b"", status, Location=f"{other.url}/models"))
        assert other.asked == []
    origin = other.url.removesuffix("/v1")
    assert f"sends requests on to {origin}; if you trust that server, give its address" in said


@pytest.mark.parametrize(
    "place", ["https://127.0.0.1/", "//example.invalid/", f"http://{KEY}.invalid/"]
)
def test_another_scheme_or_host_is_another_server(place):
    said, _ = asked(reply(b"", "307 Temp", Location=place))
    assert "sends requests on to http" in said
    assert KEY not in said


def test_a_redirect_on_the_same_server_is_followed_but_not_for_ever():
    said, _ = asked(reply(b"", "307 Temp", Location="/v1/models/"))
    assert "sends requests on again and again" in said


def test_a_redirect_that_adds_a_slash_is_followed(monkeypatch):
    get = hosted._Handler.do_GET

    def slash(handler):
        if handler.path.endswith("/"):
            return get(handler)
        handler.send_response(307)
        handler.send_header("Location", f"{handler.path}/")
        handler.send_header("Content-Length", "0")
        return handler.end_headers()

    monkeypatch.setattr(hosted._Handler, "do_GET", slash)
    with hosted.running() as stub:
        assert texts(model_at(stub.url, hosted.NAME), REQUESTS[:1], GREEDY) == [stub.answer]


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_hosted_models_are_asked_by_the_same_rules(provider):
    options = {"first_wait": 0.01, "retries": 0}
    with replying(reply(LISTED)) as other:
        for payload, says in (
            (reply(b"", "307 Temp", Location=other.url), "sends requests on to"),
            (reply(b" " * (17 * MIB)), "the server sent more than 16 MiB"),
        ):
            with replying(payload) as server:
                place = ServerOptions(base_url=server.url.removesuffix("/v1"), **options)
                assert says in str(refusal(AnyLLMModel(provider, hosted.NAME, place)))
        assert other.asked == []
