"""`openai/NAME` against a real server: what is asked, what is answered, and what may go wrong."""

import asyncio
import dataclasses
import threading
import time
from itertools import pairwise

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Request, Sampling, ServerOptions
from ragen_bench.models.server.model import OpenAIModel

from .server import llama, proxy

pytestmark = pytest.mark.xdist_group("language-model")
KEY = "sk-0123456789-secret"
GREEDY = Sampling(temperature=0, max_tokens=6, stop="</answer>", seed=0)
SAMPLED = dataclasses.replace(GREEDY, temperature=1.0, seed=3)
QUESTIONS = ["Name a colour.", "Is water wet?", "Say hi.", "What is 2 + 2?"]
REQUESTS = [
    Request([{"role": "user", "content": text}], f"question {i}", None)
    for i, text in enumerate(QUESTIONS)
]


@pytest.fixture(scope="module")
def server():
    with llama.running() as url:
        yield url


@pytest.fixture(scope="module")
def standing(server):
    return proxy.Proxy(server)


@pytest.fixture
def between(standing, monkeypatch):
    """The proxy, without faults and counts of earlier tests."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    standing.reset()
    return standing


@pytest.fixture
def model(between):
    return model_at(between.url)


def model_at(url, name=llama.NAME, **options):
    quick = {"first_wait": 0.01, "timeout": 60.0, "retries": 2, **options}
    return OpenAIModel(name, ServerOptions(base_url=url, **quick))


def texts(model, requests=REQUESTS, sampling=SAMPLED):
    return [completion.text for completion in model.complete(requests, sampling)]


def refusal(model, requests=REQUESTS[:1], sampling=SAMPLED):
    with pytest.raises(UserError) as caught:
        model.complete(requests, sampling)
    assert "\n" not in str(caught.value)
    return caught.value


# What is asked, and what is answered.


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_answers_are_the_servers_own(model, between, server, sampling):
    completions = model.complete(REQUESTS[:2], sampling)
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
    model.complete(REQUESTS[:1], SAMPLED)
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
    }
    assert seed == 820595043


def test_the_seed_is_a_function_of_run_and_request_in_31_bits(model, between):
    few = dataclasses.replace(SAMPLED, max_tokens=1)
    for sampling in (few, few, dataclasses.replace(few, seed=4)):
        model.complete(REQUESTS, sampling)
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
def test_so_many_requests_are_in_flight_as_are_wanted(between, concurrency):
    model = model_at(between.url, concurrency=concurrency)
    assert model.batch_size == concurrency
    release = threading.Event()
    between.plan = [proxy.held(release)] * concurrency
    worker = threading.Thread(target=texts, args=(model,))
    worker.start()
    while len(between.bodies) < concurrency:
        time.sleep(0.01)
    time.sleep(0.2)  # time for one too many
    assert len(between.bodies) == concurrency
    release.set()
    worker.join()
    assert len(between.bodies) == 4


def test_an_answer_ends_with_the_stop_text_and_is_never_completed(model, between):
    [whole] = model.complete(REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60))
    assert whole.completion_tokens < 60  # it ended by itself
    assert "</answer>" not in whole.text
    stop = whole.text[4:7]
    end = whole.text.index(stop) + len(stop)
    [cut] = model.complete(REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60, stop=stop))
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
def test_each_kind_of_server_is_asked_what_it_knows(between, owner, extra):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by=owner))
    model_at(between.url).complete(REQUESTS[:1], GREEDY)
    known = {"model", "messages", "temperature", "max_tokens", "top_p", "seed"}
    assert {name: value for name, value in between.bodies[0].items() if name not in known} == extra


def test_an_answer_of_tokens_without_text_is_empty(model, between):
    def refuse(reply):
        reply["choices"][0]["message"] = {"content": None, "refusal": "I would rather not."}

    between.plan = [proxy.changed(refuse)]
    [completion] = model.complete(REQUESTS[:1], GREEDY)
    assert completion.text == ""
    assert completion.completion_tokens > 0
    assert len(between.bodies) == 1


def test_a_server_that_counts_no_tokens(model, between):
    between.plan = [proxy.changed(lambda reply: reply.pop("usage"))]
    [completion] = model.complete(REQUESTS[:1], GREEDY)
    assert completion.text
    assert (completion.prompt_tokens, completion.completion_tokens) == (0, 0)


def test_it_works_where_an_event_loop_runs_already(model):
    async def notebook():
        return texts(model, REQUESTS[:1])

    assert asyncio.run(notebook()) == texts(model, REQUESTS[:1])


# What may go wrong, and pass.


ANSWER = {"choices": [{"message": {"content": "Up"}}]}
PASSING = {
    "rate limit": proxy.says({"error": {"message": "slow down"}}, 429, Retry_After=0),
    "rate limit without a wait": proxy.says(b"", 429),
    "a wait that is none": proxy.says(b"", 429, Retry_After="soon"),
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
    "null content of no tokens": proxy.changed(
        lambda reply: (
            reply["choices"][0]["message"].update(content=None),
            reply["usage"].update(completion_tokens=0),
        )
    ),
    "content that is no text": proxy.says({"choices": [{"message": {"content": 7}}]}),
    "usage that is no object": proxy.says({**ANSWER, "usage": 7}),
    "half a count": proxy.says({**ANSWER, "usage": {"prompt_tokens": 7}}),
    "tokens below 0": proxy.says(
        {**ANSWER, "usage": {"prompt_tokens": 7, "completion_tokens": -1}}
    ),
    "half a token": proxy.says({**ANSWER, "usage": {"prompt_tokens": 7, "completion_tokens": 0.5}}),
}


@pytest.fixture(scope="module")
def faultless(server):
    """Answers without faults, asked for without the proxy."""
    return texts(model_at(server))


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_changes_no_answer(model, between, faultless, name):
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
def test_a_fault_that_stays_ends_in_one_line(between, retries):
    between.then = proxy.says({"error": {"message": "out\nof memory"}}, 500)
    error = refusal(model_at(between.url, retries=retries))
    tries = {0: "1 try", 2: "3 tries"}[retries]
    assert str(error) == (
        f"{between.url} gave no answer in {tries}, the last time: HTTP 500 out of memory; "
        "finished episodes are kept, and the same command goes on from there"
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
        (proxy.says(b"x" * 999, 503), "HTTP 503 " + "x" * 200 + "...; finished"),
    ],
)
def test_a_line_says_what_happened_the_last_time(between, fault, says):
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


def test_a_timeout_is_named(between):
    model = model_at(between.url, timeout=0.5, retries=1)
    release = threading.Event()
    model.probe()
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


# What does not pass.


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
        (proxy.echoes_the_key, "HTTP 400 no Bearer ... here"),
    ],
)
def test_what_another_try_would_not_mend_is_not_tried_again(between, fault, says):
    between.then = fault
    error = refusal(model_at(between.url))
    assert str(error).startswith(f"{between.url} refused a request: HTTP ")
    assert says in str(error)
    assert (error.exit_code, len(between.bodies)) == (1, 1)
    assert KEY not in str(error)


def test_a_request_that_fails_for_good_ends_the_others(between):
    release = threading.Event()
    between.plan = [proxy.says(b"", 422)]
    between.then = proxy.held(release)
    assert "HTTP 422" in str(refusal(model_at(between.url, concurrency=4), REQUESTS))
    release.set()


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 4000 tokens",
        "The input (9031 tokens) is longer than the model's context length (2048 tokens).",
    ],
)
def test_words_of_other_servers_for_a_context_that_is_too_short(model, between, message):
    between.then = proxy.says({"object": "error", "message": message, "code": 400}, 400)
    assert str(refusal(model)).endswith(
        f"HTTP 400 {message}; lower --max-tokens, or serve the model with a longer context"
    )


def test_a_conversation_beyond_the_context(model, between):
    long = Request([{"role": "user", "content": "word " * 2000}], "long", None)
    said = str(refusal(model, [long]))
    assert f"exceeds the available context size ({llama.CONTEXT} tokens)" in said
    assert said.endswith("; lower --max-tokens, or serve the model with a longer context")
    assert len(between.bodies) == 1


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
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
        assert texts(model_at(url), REQUESTS[:1])


def test_a_server_without_a_key(server, monkeypatch, faultless):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert texts(model_at(server), REQUESTS[:1]) == faultless[:1]


# What a server says of itself.


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
    assert model.probe() == f"{between.url} serves smollm2 by llamacpp"
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
    between.listing = proxy.says({"data": []})
    assert str(probed(model_at(between.url, "gpt"))).endswith("it serves nothing")


def test_a_server_that_is_not_there():
    url = f"http://127.0.0.1:{llama.free_port()}/v1"
    error = probed(model_at(url, retries=99))
    assert str(error).startswith(f"{url} does not say what it serves: ConnectionRefusedError: ")
    assert str(error).endswith("; start the server, or correct --base-url")
    assert error.exit_code == 1


def test_a_server_that_still_loads(between):
    replies = [proxy.says({"error": {"message": "Loading model"}}, 503)] * 2
    between.listing = lambda handler, body: (replies.pop(0) if replies else proxy.forward)(
        handler, body
    )
    assert model_at(between.url).probe().endswith("serves smollm2 by llamacpp")
    between.listing = proxy.says({"error": {"message": "Loading model"}}, 503)
    assert "does not say what it serves: HTTP 503 Loading model" in str(
        probed(model_at(between.url))
    )


@pytest.mark.parametrize("listing", [b"<html>", b"[]", b"{}", b'{"data": 7}'])
def test_what_is_no_list_of_models(between, listing):
    between.listing = proxy.says(listing)
    assert "does not say what it serves: the server sent no " in str(probed(model_at(between.url)))


def test_a_base_url_that_lacks_its_end(server):
    said = str(probed(model_at(server.removesuffix("/v1") + "/nowhere")))
    assert said.endswith("does the base URL lack its /v1?")


def test_the_environments_base_url(between, monkeypatch):
    with pytest.raises(UserError, match="openai/NAME needs --base-url"):
        OpenAIModel(llama.NAME)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{between.url}/")
    assert OpenAIModel(llama.NAME).probe().startswith(f"{between.url} serves")


@pytest.mark.parametrize(
    "url", ["localhost:8000", "8000", "ftp://a/v1", "http://", "http://a:x/v1", "http://[a/v1"]
)
def test_what_is_no_base_url(url):
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
def test_a_key_that_is_none_is_refused_and_not_shown(between, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UserError, match="OPENAI_API_KEY holds characters") as caught:
        model_at(between.url)
    assert key not in str(caught.value)
