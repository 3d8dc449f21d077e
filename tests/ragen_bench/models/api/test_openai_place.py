"""`openai/NAME`: where the server is, whether it lets us in, and what it says of itself."""

import gc
import threading
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.api.options import is_loopback
from ragen_bench.models.api.server_model import OpenAIModel
from tests.waiting import wait_until

from . import llama, proxy
from .client import KEY, REQUESTS, model_at, refusal, texts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


def test_a_server_with_a_key(monkeypatch):
    with llama.running(KEY) as url:
        for given, says in (
            ("", "wants a key: set OPENAI_API_KEY (HTTP 401)"),
            ("sk-wrong", "refuses the key of OPENAI_API_KEY (HTTP 401)"),
        ):
            monkeypatch.setenv("OPENAI_API_KEY", given)
            error = refusal(model_at(url))
            assert str(error) == f"{url} {says}"
            assert error.exit_code == 1
        monkeypatch.delenv("OPENAI_API_KEY")
        error = refusal(model_at(url, key_variable="OPPONENT_API_KEY"))
        assert str(error) == f"{url} wants a key: set OPPONENT_API_KEY (HTTP 401)"
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
        assert texts(model_at(url), REQUESTS[:1])


def test_a_server_without_a_key(server, monkeypatch, faultless):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert texts(model_at(server), REQUESTS[:1]) == faultless[:1]


def test_a_proxy_of_the_environment_is_not_asked_for_this_machines_addresses(
    server, monkeypatch, faultless
):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for url in (server, server.replace("127.0.0.1", "localhost")):
        assert texts(model_at(url), REQUESTS[:1]) == faultless[:1]
    assert is_loopback("http://[::1]:8000/v1")
    assert not is_loopback("http://10.0.0.1/v1")
    assert not is_loopback("https://localhost.example/v1")


def test_deleted_models_leave_no_thread_and_no_file(server):
    def held():
        gc.collect()
        return threading.active_count(), len(list(Path("/dev/fd").iterdir()))

    model_at(server).probe()
    before = held()
    for _ in range(5):
        model_at(server).probe()
    wait_until(lambda: held() <= before)


def test_the_identity_is_the_models_and_not_the_places(server, between):
    here, there = model_at(server).identity(), model_at(between.url).identity()
    assert here == there
    assert (here["id"], here["owned_by"]) == (llama.NAME, "llamacpp")
    assert here["meta"]["n_params"] == 134515008
    assert "created" not in here
    for change in ({"root": "a/b"}, {"max_model_len": 7}, {"parent": "c"}, {"meta": {}}):
        between.listing = proxy.changed(
            lambda reply, change=change: reply["data"][0].update(change)
        )
        assert model_at(between.url).identity() == {**here, **change}


def test_probe_says_where_it_is_and_what_it_serves(model, between):
    assert model.probe() == f"{between.url} serves smollm2 by llamacpp, 1024 tokens"
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(max_model_len=2048))
    assert model.probe() == f"{between.url} serves smollm2 by llamacpp, 2048 tokens"


def probed(model):
    with pytest.raises(UserError) as caught:
        model.probe()
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_model_that_is_not_served(between):
    error = probed(model_at(between.url, "gpt"))
    assert str(error) == f"{between.url} does not serve 'gpt'; it serves smollm2"
    assert error.exit_code == 2
    between.listing = proxy.says({"data": [{"id": f"m{i:02}"} for i in range(12)] + [7, {}]})
    said = str(probed(model_at(between.url, "gpt")))
    assert said.endswith("it serves m00, m01, m02, m03, m04, m05, m06, m07, m08, m09 and 2 more")


def test_a_server_that_is_not_there():
    url = f"http://127.0.0.1:{llama.free_port()}/v1"
    error = probed(model_at(url, retries=99))
    assert str(error).startswith(f"{url} does not say what it serves: ConnectionRefusedError: ")
    assert str(error).endswith("; start the server, or correct --base-url")
    assert error.exit_code == 1
    assert error.__cause__.tries == 1  # at once


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_first_connection_that_is_dropped_is_tried_twice_again(between, times):
    asked = []

    def drop(handler, body):
        asked.append(body)
        (proxy.hangs_up if len(asked) <= times else proxy.forward)(handler, body)

    between.listing = drop
    model = model_at(between.url, retries=99)
    if times < 3:
        assert model.probe().startswith(between.url)
    else:
        assert "does not say what it serves" in str(probed(model))
    assert len(asked) == min(times + 1, 3)


def test_a_server_that_still_loads(between):
    replies = [proxy.says({"error": {"message": "Loading model"}}, 503)] * 2
    between.listing = lambda handler, body: (replies.pop(0) if replies else proxy.forward)(
        handler, body
    )
    assert model_at(between.url).probe().endswith("serves smollm2 by llamacpp, 1024 tokens")
    between.listing = proxy.says({"error": {"message": "Loading model"}}, 503)
    assert "does not say what it serves: HTTP 503 Loading model" in str(
        probed(model_at(between.url))
    )


@pytest.mark.parametrize("listing", [b"<html>", b"[]", b"{}", b'{"data": 7}'])
def test_an_invalid_list_of_models_is_refused(between, listing):
    between.listing = proxy.says(listing)
    assert "does not say what it serves: the server sent no " in str(probed(model_at(between.url)))


def test_a_base_url_that_lacks_its_end(server):
    said = str(refusal(model_at(server.removesuffix("/v1") + "/nowhere")))
    assert said.endswith("does the base URL lack its /v1?")


def test_the_environments_base_url(between, monkeypatch):
    with pytest.raises(UserError, match="openai/NAME needs --base-url"):
        OpenAIModel(llama.NAME)
    monkeypatch.setenv("OPENAI_BASE_URL", f" {between.url}/\n")  # as a file's content may be
    assert OpenAIModel(llama.NAME).probe().startswith(f"{between.url} serves")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "8000",
        "ftp://a/v1",
        "http://",
        "http://a:x/v1",
        "http://[a/v1",
        "http://[v1.x]/v1",
        "http://☃.net/v1",
        "http://a b/v1",
        "http://999.1.1.1/v1",
        "http://a/\x07",
        "http://a/\ud800",
    ],
)
def test_an_invalid_base_url_is_refused(url):
    with pytest.raises(UserError, match="is not the base URL of a server") as caught:
        model_at(url)
    assert repr(url) in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "url",
    ["http://me:pass@a/v1", "me:pass@a", "http://a/v1?key=pass", "http://a:b/#pass"],
)
def test_a_base_url_with_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(UserError, match="carries a user name, a password or a query") as caught:
        model_at(url)
    assert "pass@" not in str(caught.value)
    assert "key=" not in str(caught.value)


@pytest.mark.parametrize("key", ["a\nb", "sk-√"])
def test_an_invalid_key_is_refused_and_not_shown(between, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UserError, match="OPENAI_API_KEY holds characters") as caught:
        model_at(between.url)
    assert key not in str(caught.value)
