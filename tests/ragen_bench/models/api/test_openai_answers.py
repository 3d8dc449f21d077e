"""`openai/NAME`: why answers end, what was thought beside them, conversations that overflow."""

import dataclasses

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Request, ask_all

from . import llama, proxy
from .client import GREEDY, REQUESTS, model_at, refusal

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
LONG = Request([{"role": "user", "content": "word " * 2000}], "long", None)


def the_answer(model, request=REQUESTS[0], sampling=GREEDY):
    [completion] = ask_all(model, [request], sampling)
    return completion


def ended(text, reason, **message):
    return proxy.says(
        {
            "choices": [{"message": {"content": text, **message}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 6},
        }
    )


def test_an_answer_that_does_not_stop_is_cut_and_says_so(model):
    cut = the_answer(model)
    assert (cut.finish, cut.completion_tokens) == ("length", 6)
    [whole] = ask_all(model, REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60))
    assert whole.finish == "stop"
    assert whole.completion_tokens < 60


@pytest.mark.parametrize(
    ("reply", "completion"),
    [
        (ended("Up", "stop"), Completion("Up", 7, 6)),
        (ended("Up", "length"), Completion("Up", 7, 6, "length")),
        (ended("<answer>Up</answer> and", "length"), Completion("<answer>Up</answer>", 7, 6)),
        (ended("Up", "content_filter"), Completion("Up", 7, 6, "filtered")),
        (ended("Up", "stop", reasoning_content="So."), Completion("Up", 7, 6, reasoning="So.")),
        (ended("Up", "stop", reasoning="So."), Completion("Up", 7, 6, reasoning="So.")),
        (
            ended("Up", "stop", reasoning_content=None, reasoning="So."),
            Completion("Up", 7, 6, reasoning="So."),
        ),
        (ended("Up", "stop", reasoning={"effort": 1}), Completion("Up", 7, 6)),
        (
            ended(None, "length", reasoning_content="Let me"),
            Completion("", 7, 6, "length", "Let me"),
        ),
    ],
)
def test_why_it_ended_and_what_was_thought(model, between, reply, completion):
    between.plan = [reply]
    assert the_answer(model) == completion


def test_without_a_stop_text_nothing_is_cut_or_sent(model, between):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by="vllm"))
    text = "<think>as <answer>Up</answer></think><answer>Up</answer> so"
    between.then = ended(text, "stop")
    assert the_answer(model, sampling=dataclasses.replace(GREEDY, stop="")).text == text
    assert "stop" not in between.bodies[0]
    assert the_answer(model).text == "<think>as <answer>Up</answer>"
    assert between.bodies[1]["stop"] == ["</answer>"]


def test_a_conversation_beyond_the_context(model, between):
    longer = Request([{"role": "user", "content": "word " * 2001}], "longer", None)
    assert ask_all(model, [LONG, longer], GREEDY) == [Completion("", finish="context")] * 2
    # It is asked once whether an empty conversation would fit.
    lengths = [len(body["messages"][0]["content"]) for body in between.bodies]
    assert sorted(lengths) == [1, 10000, 10005]


def test_the_others_go_on_when_a_conversation_overflows(model, faultless):
    answers = ask_all(model, [LONG, *REQUESTS], dataclasses.replace(GREEDY, temperature=1, seed=3))
    assert answers[0].finish == "context"
    assert [answer.text for answer in answers[1:]] == faultless


def test_an_answer_that_llama_cpp_cuts_where_its_context_is_full(model, between):
    """It was asked for 10 tokens, ended at a limit, and has 6."""
    between.plan = [ended("<answer>U", "length")]
    sampling = dataclasses.replace(GREEDY, max_tokens=10)
    assert the_answer(model, sampling=sampling) == Completion("", 7, 6, "context")
    between.plan = [ended("<answer>Up</answer> a", "length")]
    assert the_answer(model, sampling=sampling).finish == "stop"


VLLM = "This model's maximum context length is 2048 tokens. However, you"


def of_other_servers(message):
    return proxy.says({"object": "error", "message": message, "code": 400}, 400)


OPENAI = proxy.says({"error": {"message": "Too long.", "code": "context_length_exceeded"}}, 400)


IN_REPLY = proxy.says({"error": {"message": VLLM, "code": 400}})


@pytest.mark.parametrize("reply", [of_other_servers(VLLM), OPENAI, IN_REPLY])
def test_overflow_messages_of_other_servers(model, between, reply):
    between.plan = [reply]
    assert the_answer(model) == Completion("", finish="context")


@pytest.mark.parametrize("reply", [of_other_servers(VLLM), OPENAI])
def test_a_limit_that_leaves_no_room_for_a_conversation(model, between, reply):
    between.then = reply
    error = refusal(model)
    assert str(error).startswith(f"{between.url} refused a request: HTTP 400 T")
    assert str(error).endswith("; lower --max-tokens, or serve the model with a longer context")
    assert (error.exit_code, len(between.bodies)) == (1, 2)


def test_a_limit_beyond_the_context_that_the_server_names(model, between):
    for limit in (llama.CONTEXT, 9999):
        with pytest.raises(UserError) as caught:
            model.engine(dataclasses.replace(GREEDY, max_tokens=limit))
        assert str(caught.value) == (
            f"{between.url} serves smollm2 with a context of 1024 tokens; lower --max-tokens, "
            f"which is {limit}"
        )
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(max_model_len=7))
    with pytest.raises(UserError, match="a context of 7 tokens"):
        model_at(between.url).engine(dataclasses.replace(GREEDY, max_tokens=7))
    assert not between.bodies


def test_other_errors_are_not_an_overflow(model, between):
    between.then = of_other_servers("stop is too long")
    assert str(refusal(model)) == f"{between.url} refused a request: HTTP 400 stop is too long"
