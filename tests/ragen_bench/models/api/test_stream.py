"""Streams put together into the bodies of unstreamed replies, in the three protocols."""

import json

import pytest

from ragen_bench.models.api.errors import ErrorInReplyError, RetryableError
from ragen_bench.models.api.native import convert_anthropic, convert_google
from ragen_bench.models.api.response import read_completion
from ragen_bench.models.api.stream import (
    is_stream,
    merge_anthropic,
    merge_google,
    merge_openai,
    wants_stream,
)

USAGE = {"prompt_tokens": 11, "completion_tokens": 7}


def chunk(finish=None, usage=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


def written(*events, ends="\n", done=True):
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    lines = [f"data: {text}{ends}{ends}" for text in [*texts, *(["[DONE]"] if done else [])]]
    return "".join(lines)


def read(body, calls=False):
    return read_completion(merge_openai(body), "", calls=calls)


WHOLE = (
    chunk(role="assistant", content=""),
    chunk(reasoning_content="Let me "),
    chunk(reasoning_content="see."),
    chunk(content="Up\u2028"),
    chunk(content=" it is."),
    chunk("length"),
    {"choices": [], "usage": USAGE},
)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("done", [True, False])
def test_a_stream_is_read_as_the_reply_that_is_not_streamed(ends, done):
    message = {
        "role": "assistant",
        "content": "Up\u2028 it is.",
        "reasoning_content": "Let me see.",
    }
    reply = {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    expected = json.dumps(reply | {"usage": USAGE})
    body = written(*WHOLE, ends=ends, done=done)
    assert json.loads(merge_openai(body)) == json.loads(expected)
    assert read(body) == read_completion(expected, "")
    assert (read(body).finish, read(body).completion_tokens) == ("length", 7)


def test_calls_are_put_together_by_index():
    pieces = [
        [{"index": 0, "id": "a", "type": "function", "function": {"name": "act", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"actions": ["U'}}],
        [{"index": 1, "id": "b", "type": "function", "function": {"name": "look"}}],
        [{"index": 0, "function": {"arguments": 'p"]}'}}],
        [{"index": 1, "function": {"arguments": "{}"}, "extra_content": {"google": {"s": "x"}}}],
    ]
    body = written(*(chunk(tool_calls=piece) for piece in pieces), chunk("tool_calls"))
    [choice] = json.loads(merge_openai(body))["choices"]
    act = {"name": "act", "arguments": '{"actions": ["Up"]}'}
    look = {"name": "look", "arguments": "{}"}
    assert choice["message"]["tool_calls"] == [
        {"id": "a", "type": "function", "function": act},
        {"id": "b", "type": "function", "function": look, "extra_content": {"google": {"s": "x"}}},
    ]
    assert read(body, calls=True).text.count("<tool_call>") == 2


@pytest.mark.parametrize(
    "pieces",
    [
        # All calls with one index, told apart by their ids, which some repeat with the name.
        [("a", 0, "act", "{"), ("a", 0, "act", "}"), ("b", 0, "look", "{}")],
        [("a", None, "act", "{"), (None, None, None, "}"), ("b", None, "look", "{}")],
        [("a", None, "act", "{"), ("a", None, "act", "}"), ("b", None, "look", "{}")],
        [(None, None, "act", "{}"), (None, None, "look", "{}")],
        [("a", 3, "act", "{"), (None, 3, None, "}"), ("b", 5, "look", "{}")],
        [("a", 0, "a", "{"), (None, 0, "ct", "}"), ("b", 1, "look", "{}")],
    ],
)
def test_calls_of_servers_with_their_own_ways(pieces):
    deltas = [
        {"id": name, "index": index, "function": {"name": function, "arguments": arguments}}
        for name, index, function, arguments in pieces
    ]
    body = written(*(chunk(tool_calls=[delta]) for delta in deltas), chunk("tool_calls"))
    [choice] = json.loads(merge_openai(body))["choices"]
    calls = [call["function"] for call in choice["message"]["tool_calls"]]
    assert calls == [{"name": "act", "arguments": "{}"}, {"name": "look", "arguments": "{}"}]


def test_other_pieces_of_a_message():
    body = written(
        chunk(refusal="I "),
        chunk(refusal="cannot."),
        {**chunk("content_filter"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        {"choices": None, "usage": USAGE},
    )
    reply = json.loads(merge_openai(body))
    assert reply["usage"] == USAGE
    assert reply["choices"][0]["message"] == {"refusal": "I cannot."}
    parts = [
        chunk(content=[{"type": "thinking", "thinking": "Hm."}]),
        chunk(content="Up"),
        chunk(content="!"),
        chunk("stop"),
    ]
    completion = read(written(*parts))
    assert (completion.text, completion.reasoning) == ("Up!", "Hm.")


def test_a_server_that_repeats_the_whole_message_at_the_end_is_not_read_twice():
    last = {"choices": [{"message": {"content": "Up"}, "finish_reason": "stop"}]}
    assert read(written(chunk(content="U"), chunk(content="p"), last)).text == "Up"


def test_what_is_no_data_is_skipped():
    body = (
        ": OPENROUTER PROCESSING\n\n"
        + "retry: 100\nid: 7\nevent: message\n"
        + written(chunk(content="Up"), done=False)
        + ": keep-alive\n\nevent: ping\ndata: {}\n\ndata:\n\n"
        + 'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "!"}}]}\n\n'
        + written(chunk("stop"), {"choices": [{"index": 1, "delta": {"content": "no"}}]})
        + "data: after the end\n\n"
    )
    assert is_stream(body)
    assert read(body).text == "Up!"


def test_events_with_one_line_end_and_no_end_at_all():
    assert read(
        f"data:{json.dumps(chunk(content='Up'))}\ndata: {json.dumps(chunk('stop'))}"
    ).text == ("Up")


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([chunk(content="U")], "the stream ended before the answer did"),
        ([], "the stream ended before the answer did"),
        (["{", chunk("stop")], "the stream holds something else than JSON"),
        (["[1]", chunk("stop")], "the stream holds something else than JSON"),
        ([chunk("error", content="U")], "a piece of an answer, which ended by 'error'"),
        ([chunk("abort", content="U")], "a piece of an answer, which ended by 'abort'"),
    ],
)
@pytest.mark.parametrize("done", [True, False])
def test_a_piece_of_a_stream_is_a_passing_fault(events, says, done):
    with pytest.raises(RetryableError, match=says) as caught:
        read(written(*events, done=done))
    assert caught.value.answered


ERROR = {"message": "out of memory", "code": 400}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (written({"error": ERROR}), 400),
        (written(chunk(content="U"), {"error": ERROR}), 500),
        (written(chunk(content="U"), {**chunk("error"), "error": ERROR}), 500),
        (written(chunk(content="U"), {"error": "away"}, chunk("stop")), 500),
        (
            written(chunk(content="U"), done=False)
            + f"event: error\ndata: {json.dumps(ERROR)}\n\n",
            500,
        ),
        (written(chunk(content="U"), done=False) + "event: error\ndata: away\n\n", 500),
        (f"error: {json.dumps(ERROR)}\n\n", 400),
    ],
)
def test_an_error_in_a_stream_is_read_as_one_in_a_reply(body, status):
    assert is_stream(body)
    with pytest.raises(ErrorInReplyError) as caught:
        read(body)
    assert caught.value.status == status


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


ANTHROPIC = [
    event(
        "message_start", message={"role": "assistant", "content": [], "usage": {"input_tokens": 9}}
    ),
    event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""}),
    event("ping"),
    event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}),
    event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "s"}),
    event("content_block_stop", index=0),
    event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=1, delta={"type": "text_delta", "text": "U"}),
    event("content_block_delta", index=1, delta={"type": "text_delta", "text": "p"}),
    event(
        "content_block_start",
        index=2,
        content_block={"type": "tool_use", "id": "t", "name": "act", "input": {}},
    ),
    event(
        "content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"a'}
    ),
    event(
        "content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '": 1}'}
    ),
    event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
    event("message_stop"),
]


def test_anthropics_protocol():
    reply = json.loads(merge_anthropic("".join(ANTHROPIC)))
    assert reply == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Up"},
            {"type": "tool_use", "id": "t", "name": "act", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }
    completion = read_completion(json.dumps(convert_anthropic(reply)), "", calls=True)
    assert (completion.reasoning, completion.completion_tokens) == ("Hm.", 5)
    with pytest.raises(RetryableError, match="ended before the answer did"):
        merge_anthropic("".join(ANTHROPIC[:-2]))
    broken = event("error", error={"type": "overloaded_error", "message": "busy"})
    assert (
        json.loads(merge_anthropic("".join([*ANTHROPIC[:8], broken])))["error"]["message"] == "busy"
    )


def candidate(*parts, **fields):
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **fields}]}


def test_googles_protocol():
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 5}
    chunks = [
        candidate({"text": "Hm.", "thought": True}) | {"usageMetadata": {"promptTokenCount": 9}},
        candidate({"text": "U"}),
        candidate({"text": "p"}, finishReason="MAX_TOKENS") | {"usageMetadata": usage},
    ]
    reply = json.loads(merge_google(written(*chunks, ends="\r\n", done=False)))
    completion = read_completion(json.dumps(convert_google(reply)), "")
    assert (completion.text, completion.reasoning, completion.finish) == ("Up", "Hm.", "length")
    assert (completion.prompt_tokens, completion.completion_tokens) == (9, 5)
    with pytest.raises(RetryableError, match="ended before the answer did"):
        merge_google(written(*chunks[:2], done=False))
    blocked = merge_google(written({"promptFeedback": {"blockReason": "SAFETY"}}, done=False))
    assert read_completion(json.dumps(convert_google(json.loads(blocked))), "").finish == "filtered"


@pytest.mark.parametrize(
    "body",
    ['{"choices": []}', " \n{}", "[1]", "<html>", "upstream data: no", ": on\n\n: on\n\n{}"],
)
def test_a_reply_that_is_not_streamed_is_none(body):
    assert not is_stream(body)


@pytest.mark.parametrize(
    "error",
    [
        "This model only support stream mode, please enable the stream parameter to access it.",
        "Stream must be set to true",
        "Requests with max_tokens > 4096 must have stream=true",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "Streaming is required for operations that may take longer than 10 minutes",
        "Non-streaming requests are not supported for this model",
        "only streamed requests are answered here",
        '{"detail": "`stream` needs to be true"}',
    ],
)
def test_errors_that_ask_for_a_stream(error):
    assert wants_stream(f"http://a/v1 refused a request: HTTP 400 {error}")


@pytest.mark.parametrize(
    "error",
    [
        "HTTP 502 upstream only",
        "max_tokens is too large",
        "HTTP 500 the upstream server must be enabled",
        "HTTP 400 only text content is supported",
    ],
)
def test_other_errors_do_not(error):
    assert not wants_stream(error)
