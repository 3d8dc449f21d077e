"""`openai/NAME`: requests in flight, faults among them, and what closing does."""

import threading
from contextlib import closing

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Request, RequestFailure, ask_all
from ragen_bench.models.api import retries as sender
from ragen_bench.models.api.errors import RetryableError
from tests.waiting import wait_until

from . import proxy
from .client import REQUESTS, SAMPLED, model_at, texts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
MANY = [
    Request([{"role": "user", "content": f"Say {word}."}], word, None)
    for word in ("one", "two", "three", "four", "five", "six", "seven", "eight")
]


def collect_all(engine, count):
    answers = []
    while len(answers) < count:
        answers += engine.collect()
    return {request.key: answer for request, answer in answers}


def test_a_response_is_returned_while_another_is_pending(between, faultless):
    release = threading.Event()
    between.plan = [proxy.held(release)]
    with closing(model_at(between.url).engine(SAMPLED)) as engine:
        engine.submit(REQUESTS[0])
        wait_for(between, 1)
        for request in REQUESTS[1:]:
            engine.submit(request)
        early = collect_all(engine, 3)
        assert [early[request.key].text for request in REQUESTS[1:]] == faultless[1:]
        engine.submit(MANY[0])
        assert set(collect_all(engine, 1)) == {MANY[0].key}
        release.set()
        late = collect_all(engine, 1)
        assert late[REQUESTS[0].key].text == faultless[0]


def wait_for(between, bodies):
    wait_until(lambda: len(between.bodies) >= bodies)


def test_a_request_is_sent_when_it_is_submitted(between):
    release = threading.Event()
    between.then = proxy.held(release)
    with closing(model_at(between.url).engine(SAMPLED)) as engine:
        for i, request in enumerate(REQUESTS, start=1):
            engine.submit(request)
            wait_for(between, i)
    release.set()


def test_requests_beyond_the_concurrency_wait(between, faultless):
    release = threading.Event()
    between.plan = [proxy.held(release)] * 2
    with closing(model_at(between.url, concurrency=2).engine(SAMPLED)) as engine:
        for request in REQUESTS:
            engine.submit(request)
        wait_for(between, 2)
        texts(model_at(between.url), REQUESTS[:1])  # one too many would be there by now
        assert len(between.bodies) == 2 + 1
        release.set()
        answers = collect_all(engine, 4)
    assert [answers[request.key].text for request in REQUESTS] == faultless


def test_closing_cancels_requests_in_flight(between):
    broken = threading.Event()

    def until_hung_up(handler, body):
        handler.connection.settimeout(60)
        if handler.connection.recv(1) == b"":
            broken.set()

    between.plan = [until_hung_up]
    between.then = proxy.says(b"", 500)
    engine = model_at(between.url, concurrency=2, retries=99, longest_wait=0.01).engine(SAMPLED)
    for request in REQUESTS[:3]:  # one is answered never, one always wrongly, and one waits
        engine.submit(request)
    wait_for(between, 5)
    engine.close()
    assert broken.wait(60)
    between.then = None
    counts = []
    for _ in range(2):
        texts(model_at(between.url), REQUESTS)  # waits of 0.01 s are over by the second time
        counts.append(len(between.bodies))
    assert counts[1] == counts[0] + len(REQUESTS)


def test_eight_in_flight_through_every_fault(between):
    model = model_at(between.url, concurrency=8, retries=9, timeout=5.0)
    whole = texts(model, MANY)
    assert len(set(whole)) > 1
    release = threading.Event()
    between.plan = [
        proxy.says({"error": {"message": "slow down"}}, 429, Retry_After="0.1"),
        proxy.says(b"", 500),
        proxy.says(b"<html>", 502),
        proxy.hangs_up,
        proxy.cut,
        proxy.held(release),
        proxy.says(b"no JSON"),
        proxy.says({"choices": []}),
        None,
        proxy.hangs_up,
    ]
    sent = len(between.bodies)
    assert texts(model, MANY) == whole
    assert len(between.bodies) == sent + 8 + 9
    release.set()


def failures(monkeypatch):
    """Return a list that grows by each try that fails."""
    failed, in_time = [], sender.send_in_time

    async def noted(send, seconds):
        try:
            return await in_time(send, seconds)
        except RetryableError as error:
            failed.append(error)
            raise

    monkeypatch.setattr(sender, "send_in_time", noted)
    return failed


def test_eight_in_flight_while_the_server_is_gone(between, monkeypatch):
    model = model_at(between.url, concurrency=8, first_wait=0.2, longest_wait=0.5, retries=30)
    whole = texts(model, MANY)
    release = threading.Event()
    between.plan = [proxy.held(release)] * 8
    failed, answers = failures(monkeypatch), []
    worker = threading.Thread(target=lambda: answers.extend(texts(model, MANY + REQUESTS)))
    worker.start()
    wait_for(between, 8 + 8)
    between.down()
    release.set()
    wait_until(lambda: len(failed) >= len(REQUESTS))  # those that begin now find nobody
    between.up()
    worker.join()
    assert answers[:8] == whole
    assert len(answers) == 12


def test_failures_are_returned_next_to_completions(between, faultless):
    def fails_for_colours(handler, body):
        (proxy.says(b"", 503) if b"colour" in body else proxy.forward)(handler, body)

    between.then = fails_for_colours
    with closing(model_at(between.url, retries=1).engine(SAMPLED)) as engine:
        for request in REQUESTS:
            engine.submit(request)
        answers = collect_all(engine, 4)
    first, *others = (answers[request.key] for request in REQUESTS)
    assert first == RequestFailure(
        f"{between.url} gave no answer in 2 tries, the last time: HTTP 503"
    )
    assert [answer.text for answer in others] == faultless[1:]


def test_a_permanent_refusal_is_raised(between):
    between.plan = [proxy.says({"error": {"message": "bad seed"}}, 400)]
    with closing(model_at(between.url).engine(SAMPLED)) as engine:
        engine.submit(REQUESTS[0])
        with pytest.raises(UserError, match="refused a request: HTTP 400 bad seed") as caught:
            engine.collect()
    assert caught.value.exit_code == 1


def test_a_model_serves_several_engines(between, faultless):
    model = model_at(between.url)
    assert texts(model) == texts(model) == faultless
    assert ask_all(model, [], SAMPLED) == []
