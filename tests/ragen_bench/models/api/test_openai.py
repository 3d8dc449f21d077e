"""`openai/NAME` against a real server: what is asked, and what is answered."""

import asyncio
import dataclasses
import threading

import pytest

from ragen_bench.models import ask_all
from tests.waiting import wait_until

from . import llama, proxy
from .client import GREEDY, QUESTIONS, REQUESTS, SAMPLED, model_at, texts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_answers_are_the_servers_own(model, between, server, sampling):
    completions = ask_all(model, REQUESTS[:2], sampling)
    bodies = sorted(between.bodies, key=lambda body: QUESTIONS.index(asked(body)))
    for body, completion in zip(bodies, completions, strict=True):
        reply = llama.post(server, body)
        assert completion.text == reply["choices"][0]["message"]["content"]
        usage = reply["usage"]
        assert completion.prompt_tokens == usage["prompt_tokens"]
        assert completion.completion_tokens == usage["completion_tokens"] <= 6


def asked(body):
    return body["messages"][-1]["content"]


def test_the_request_says_how_to_sample_and_switches_the_servers_defaults_off(model, between):
    ask_all(model, REQUESTS[:1], SAMPLED)
    [body] = between.bodies
    seed = body.pop("seed")
    assert body == {
        "model": llama.NAME,
        "messages": [{"role": "user", "content": "Name a colour."}],
        "temperature": 1.0,
        "max_tokens": 6,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repeat_penalty": 1.0,
        "xtc_probability": 0.0,
        "mirostat": 0,
    }
    assert seed == 820595043


def test_the_seed_is_a_function_of_run_and_request_in_31_bits(model, between):
    few = dataclasses.replace(SAMPLED, max_tokens=2)
    for sampling in (few, few, dataclasses.replace(few, seed=4)):
        ask_all(model, REQUESTS, sampling)
    seeds = [
        {asked(body): body["seed"] for body in between.bodies[start : start + 4]}
        for start in (0, 4, 8)
    ]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0].values(), *seeds[2].values()}) == 8
    assert all(0 <= seed < 2**31 for seed in seeds[0].values())


def test_answers_do_not_depend_on_what_else_is_in_flight(between):
    one, four = (texts(model_at(between.url, concurrency=n)) for n in (1, 4))
    assert one == four
    assert len(set(one)) > 1


@pytest.mark.parametrize("concurrency", [1, 3])
def test_concurrency_limits_requests_in_flight(between, concurrency):
    model = model_at(between.url, concurrency=concurrency)
    assert (model.slots, model.group_size) == (concurrency, 1)
    release = threading.Event()
    between.plan = [proxy.held(release)] * concurrency
    worker = threading.Thread(target=texts, args=(model,))
    worker.start()
    wait_until(lambda: len(between.bodies) >= concurrency)
    texts(model_at(between.url))  # one too many would be there by now
    assert len(between.bodies) == concurrency + 4
    release.set()
    worker.join()
    assert len(between.bodies) == 4 + 4


def test_an_answer_ends_with_the_stop_text_and_is_never_completed(model, between):
    [whole] = ask_all(model, REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60))
    assert whole.completion_tokens < 60  # it ended by itself
    assert "</answer>" not in whole.text
    stop = whole.text[4:7]
    end = whole.text.index(stop) + len(stop)
    [cut] = ask_all(model, REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60, stop=stop))
    assert cut.text == whole.text[:end]
    assert not any("stop" in body for body in between.bodies)


@pytest.mark.parametrize(
    ("owner", "extra"),
    [
        (
            "vllm",
            {
                "stop": ["</answer>"],
                "include_stop_str_in_output": True,
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
            },
        ),
        (
            "sglang",
            {
                "stop": ["</answer>"],
                "no_stop_trim": True,
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
            },
        ),
        ("library", {}),
        (None, {}),
    ],
)
def test_each_kind_of_server_gets_its_own_fields(between, owner, extra):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by=owner))
    ask_all(model_at(between.url), REQUESTS[:1], GREEDY)
    known = {"model", "messages", "temperature", "max_tokens", "top_p", "seed"}
    assert {name: value for name, value in between.bodies[0].items() if name not in known} == extra


def test_an_answer_of_tokens_without_text_is_empty(model, between):
    def refuse(reply):
        reply["choices"][0]["message"] = {"content": None, "refusal": "I would rather not."}

    between.plan = [proxy.changed(refuse)]
    [completion] = ask_all(model, REQUESTS[:1], GREEDY)
    assert completion.text == ""
    assert completion.completion_tokens > 0
    assert len(between.bodies) == 1


def test_a_server_that_counts_no_tokens(model, between):
    between.plan = [proxy.changed(lambda reply: reply.pop("usage"))]
    [completion] = ask_all(model, REQUESTS[:1], GREEDY)
    assert completion.text
    assert (completion.prompt_tokens, completion.completion_tokens) == (0, 0)


def test_it_works_where_an_event_loop_runs_already(model):
    async def notebook():
        return texts(model, REQUESTS[:1])

    assert asyncio.run(notebook()) == texts(model, REQUESTS[:1])
