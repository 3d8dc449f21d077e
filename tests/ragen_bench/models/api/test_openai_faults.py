"""`openai/NAME` when requests fail: what is tried again, and what ends the run."""

import asyncio
import dataclasses
import threading
from contextlib import closing
from itertools import pairwise

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Request, RequestFailure, ServerOptions
from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.api.retries import retry

from . import proxy
from .client import KEY, REQUESTS, SAMPLED, model_at, refusal, texts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
PASSING = {
    "rate limit": proxy.says({"error": {"message": "slow down"}}, 429, Retry_After=0),
    "rate limit without a wait": proxy.says(b"", 429),
    "a wait that is none": proxy.says(b"", 429, Retry_After="soon"),
    "an absurd date": proxy.says(b"", 503, Retry_After="Mon, 01 Jan 2024 00:00:00 +99999999999"),
    "a date that is over": proxy.says(b"", 503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "internal error": proxy.says({"error": "out of memory"}, 500),
    "bad gateway": proxy.says(b"<html>", 502),
    "hung up": proxy.hangs_up,
    "cut": proxy.cut,
    "HTML": proxy.says(b"<html>maintenance</html>"),
    "no JSON": proxy.says(b'{"choices": ['),
    "deep JSON": proxy.says(b"[" * 100_000),
    "no object": proxy.says([]),
    "no choices": proxy.says({}),
    "null choices": proxy.says({"choices": None}),
    "empty choices": proxy.says({"choices": []}),
    "no message": proxy.says({"choices": [{}]}),
    "null content": proxy.says({"choices": [{"message": {"content": None}}]}),
    "a piece of an answer": proxy.changed(
        lambda reply: reply["choices"][0].update(finish_reason="abort")
    ),
    "no reason for the end": proxy.changed(
        lambda reply: reply["choices"][0].update(finish_reason=None)
    ),
    "an error in a reply": proxy.says({"error": {"message": "overloaded", "code": 502}}),
    "content that is no text": proxy.says({"choices": [{"message": {"content": 7}}]}),
    "names that are no texts": proxy.says({"error": {"code": {"a": 1}, "type": ["b"]}}, 500),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_passing_error_does_not_change_completions(model, between, faultless, name):
    between.plan = [PASSING[name]] * 2
    assert texts(model, REQUESTS[:1]) == faultless[:1]
    assert len(between.bodies) == 3
    assert between.bodies[0] == between.bodies[1] == between.bodies[2]


def test_faults_among_requests_in_flight(between, faultless):
    between.plan = [*list(PASSING.values())[:6], None, proxy.cut]
    # One request may meet all the faults.
    assert texts(model_at(between.url, retries=7)) == faultless
    assert len(between.bodies) == 11


def test_an_answer_that_comes_too_late_is_asked_for_again(between, faultless):
    model = model_at(between.url, timeout=5.0)
    release = threading.Event()
    between.plan = [proxy.held(release)]
    assert texts(model, REQUESTS[:1]) == faultless[:1]
    release.set()
    assert len(between.bodies) == 2


def test_a_server_that_dies_and_comes_back(between, faultless):
    model = model_at(between.url, first_wait=0.2, retries=9)
    model.probe()
    between.down()
    back = threading.Timer(0.5, between.up)
    back.start()
    assert texts(model) == faultless
    back.join()


@pytest.mark.parametrize("retries", [0, 2])
def test_a_lasting_error_ends_in_one_line(between, retries):
    between.then = proxy.says({"error": {"message": "out\nof memory"}}, 500)
    error = refusal(model_at(between.url, retries=retries))
    tries = {0: "1 try", 2: "3 tries"}[retries]
    assert str(error) == (
        f"{between.url} gave no answer in {tries}, the last time: HTTP 500 out of memory"
    )
    assert error.exit_code == 1
    assert len(between.bodies) == retries + 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (proxy.hangs_up, "3 tries, the last time: RemoteProtocolError: Server disconnected"),
        (proxy.cut, "3 tries, the last time: RemoteProtocolError: peer closed connection"),
        (proxy.says(b"<html>" * 99), "3 tries, the last time: the server sent no JSON: '<html>"),
        (proxy.says({}), "3 tries, the last time: the server sent no answer: '{}'"),
        (proxy.says(b"x" * 999, 503), "HTTP 503 " + "x" * 200 + "..."),
    ],
)
def test_the_message_has_the_last_error(between, fault, says):
    between.then = fault
    assert says in str(refusal(model_at(between.url)))


def test_a_server_that_is_gone_in_the_middle(model, between):
    model.probe()
    between.down()
    try:
        said = str(refusal(model))
    finally:
        between.up()
    assert "gave no answer in 3 tries, the last time: ConnectionRefusedError: " in said


def test_a_timeout_is_named(between, monkeypatch):
    model = model_at(between.url, retries=1)
    release = threading.Event()
    model.probe()
    monkeypatch.setattr(model, "options", dataclasses.replace(model.options, timeout=0.5))
    between.then = proxy.held(release)
    assert "in 2 tries, the last time: no answer within 0.5 s, see --timeout" in str(refusal(model))
    release.set()


def test_a_wait_that_the_server_asks_for_is_kept(model, between, faultless):
    between.plan = [proxy.says(b"", 429, Retry_After="0.7")]
    assert texts(model, REQUESTS[:1]) == faultless[:1]
    assert between.times[1] - between.times[0] >= 0.7


def test_waits_grow_up_to_the_longest(between):
    between.then = proxy.says(b"", 500)
    refusal(model_at(between.url, first_wait=0.1, longest_wait=0.3, retries=4))
    waits = [later - earlier for earlier, later in pairwise(between.times)]
    assert all(wait >= least for wait, least in zip(waits, (0.05, 0.1, 0.15, 0.15), strict=True))


def test_retries_without_end_go_on():
    tries = 0

    async def send():
        nonlocal tries
        tries += 1
        if tries <= 1100:  # a float ends at 2 ** 1024
            raise RetryableError("still away")
        return "back"

    options = ServerOptions(retries=5000, first_wait=1e-9, longest_wait=1e-9)
    assert asyncio.run(retry(send, options)) == "back"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (proxy.says(b"", 429, Retry_After=3600), "HTTP 429, and asks to wait 3600 s"),
        (proxy.says(b"", 503, Retry_After="Wed, 21 Oct 2099 07:28:00 GMT"), "and asks to wait 2"),
        (
            proxy.says({"error": {"message": "no money", "code": "insufficient_quota"}}, 429),
            "HTTP 429 no money",
        ),
        (proxy.says({"detail": "no such field"}, 422), "HTTP 422 no such field"),
        (proxy.says({"error": {"message": "not found"}}, 404), "does the base URL lack its /v1?"),
        (
            proxy.says({"error": {"message": {"a": 1}, "code": {"b": 1}, "type": ["c"]}}, 400),
            "HTTP 400 {'a': 1}",
        ),
        (proxy.echoes_the_key, "HTTP 400 no Bearer ... here"),
    ],
)
def test_permanent_errors_are_not_retried(between, fault, says):
    between.then = fault
    error = refusal(model_at(between.url))
    assert str(error).startswith(f"{between.url} refused a request: HTTP ")
    assert says in str(error)
    assert (error.exit_code, len(between.bodies)) == (1, 1)
    assert KEY not in str(error)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_conversation_that_is_refused_ends_no_other(between, faultless, status):
    """As by a filter of contents; the server has answered another one before."""
    model = model_at(between.url)
    refused = proxy.says({"error": {"message": "filtered"}}, status)
    between.plan = [None, refused]
    with closing(model.engine(SAMPLED)) as engine:
        for request, text in zip(REQUESTS[:3], (faultless[0], None, faultless[2]), strict=True):
            engine.submit(request)
            [(_, answer)] = engine.collect()
            if text is None:
                assert answer == RequestFailure(
                    f"{between.url} refused a request: HTTP {status} filtered"
                )
            else:
                assert answer.text == text


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_from_the_first_request_on_ends_the_run(between, status):
    between.then = proxy.says(b"", status)
    error = refusal(model_at(between.url))
    assert str(error) == f"{between.url} refuses the key of OPENAI_API_KEY (HTTP {status})"
    assert len(between.bodies) == 2  # an empty conversation is refused too


def test_a_missing_page_ends_the_run(between):
    between.plan = [None, proxy.says(b"", 404)]
    with closing(model_at(between.url).engine(SAMPLED)) as engine:
        engine.submit(REQUESTS[0])
        engine.collect()
        engine.submit(REQUESTS[1])
        with pytest.raises(UserError, match="HTTP 404"):
            engine.collect()


MODERATED = {"error": {"message": "Your input was flagged", "code": 403}}


@pytest.mark.parametrize("before", [[], [None]])
def test_a_moderated_conversation_ends_no_other(between, faultless, before):
    """Also if the first one is moderated, where an empty conversation is answered."""
    between.plan = [*before, proxy.says(MODERATED, 403)]
    with closing(model_at(between.url).engine(SAMPLED)) as engine:
        for _ in before:
            engine.submit(REQUESTS[0])
            engine.collect()
        engine.submit(REQUESTS[1])
        [(_, failure)] = engine.collect()
        engine.submit(REQUESTS[2])
        [(_, answer)] = engine.collect()
    assert failure.reason == f"{between.url} refused a request: HTTP 403 Your input was flagged"
    assert answer.text == faultless[2]


def test_a_filtered_conversation_is_an_empty_answer(model, between):
    error = {"message": "The prompt was filtered", "code": "content_filter", "type": None}
    between.plan = [None, proxy.says({"error": error}, 400)]
    with closing(model.engine(SAMPLED)) as engine:
        for request in REQUESTS[:2]:
            engine.submit(request)
            [(_, answer)] = engine.collect()
    assert answer == Completion("", finish="filtered")


@pytest.mark.parametrize("status", [400, 500])
def test_an_answer_that_its_server_cannot_read_is_out_of_form(model, between, status):
    error = {"code": "tool_use_failed", "message": "No.", "failed_generation": "<function=act>"}
    between.plan = [None, proxy.says({"error": error}, status)]
    with closing(model.engine(SAMPLED)) as engine:
        for request in REQUESTS[:2]:
            engine.submit(request)
            [(_, answer)] = engine.collect()
    assert answer == Completion("<function=act>", 0, 4, tokens_estimated=True)


def test_a_request_that_fails_for_good_ends_the_others(between):
    release = threading.Event()
    between.plan = [proxy.says(b"", 422)]
    between.then = proxy.held(release)
    assert "HTTP 422" in str(refusal(model_at(between.url, concurrency=4), REQUESTS))
    release.set()


REPEATS = (KEY, KEY[:-3], f"{KEY}{KEY}")


@pytest.mark.parametrize("said", REPEATS)
def test_a_key_that_the_server_repeats_is_in_no_message(between, said):
    between.then = proxy.says(f"<html>{said}".encode())
    with pytest.raises(UserError) as caught:
        texts(model_at(between.url), REQUESTS[:1])
    assert KEY[:12] not in str(caught.value)
    assert "..." in str(caught.value)


@pytest.mark.parametrize("said", REPEATS)
def test_a_key_that_the_server_repeats_is_in_no_answer(between, said):
    between.then = proxy.says({"choices": [{"message": {"content": f"It is {said}!"}}]})
    [answer] = texts(model_at(between.url), REQUESTS[:1])
    assert answer.startswith("It is ...")
    assert answer.endswith("...!")
    assert KEY[:12] not in answer


def test_a_lone_surrogate_in_a_conversation_is_sent_as_a_question_mark(between):
    talk = [{"role": "user", "content": "Say \ud800."}]
    texts(model_at(between.url), [Request(talk, "surrogate", None)])
    assert between.bodies[0]["messages"][0]["content"] == "Say ?."
