"""What is read from replies: what a model did is an answer, a piece of one is asked for again."""

import json

import pytest

from ragen_bench.models import Completion
from ragen_bench.models.api.errors import ErrorInReplyError, RetryableError
from ragen_bench.models.api.response import read_completion
from ragen_bench.run import Run
from tests.ragen_bench.cli.command import run

from . import hosted

USAGE = {"prompt_tokens": 7, "completion_tokens": 6}
TEXT = {"type": "text", "text": "Up"}


def reply(message, reason="stop", usage=USAGE, **fields):
    choice = {"message": {"role": "assistant", **message}, "finish_reason": reason, **fields}
    return json.dumps({"choices": [choice], **({"usage": usage} if usage else {})})


def read(message, reason="stop", usage=USAGE, stop="", **fields):
    return read_completion(reply(message, reason, usage, **fields), stop)


@pytest.mark.parametrize(
    ("content", "text", "thoughts"),
    [
        ([TEXT], "Up", ""),
        ([{"type": "text", "text": "U"}, {"type": "output_text", "text": "p"}], "Up", ""),
        ([{"type": "thinking", "thinking": "So.", "signature": "x"}, TEXT], "Up", "So."),
        # Mistral's thoughts are parts themselves.
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "So."}]}, TEXT],
            "Up",
            "So.",
        ),
        ([{"type": "reasoning", "summary": [{"text": "So."}]}, TEXT], "Up", "So."),
        ([{"type": "reasoning", "text": "So."}], "", "So."),
        ([{"type": "redacted_thinking", "data": "x"}, TEXT], "Up", ""),
        ([{"text": "So.", "thought": True}, {"text": "Up"}], "Up", "So."),
        (["U", "p"], "Up", ""),
        ({"type": "text", "text": {"value": "Up"}}, "Up", ""),
        ([{"type": "new_kind", "text": "Up"}], "Up", ""),
        ([{"type": "image_url", "image_url": {"url": "data:,"}}, TEXT], "Up", ""),
        ([{"type": "reference", "reference_ids": [1]}, TEXT], "Up", ""),
        ([{"type": "refusal", "refusal": "I won't."}], "", ""),
        ([], "", ""),
    ],
)
def test_parts_of_a_content(content, text, thoughts):
    assert read({"content": content}) == Completion(text, 7, 6, reasoning=thoughts)


def test_a_refusal_is_an_empty_answer():
    refused = {"content": None, "refusal": "I can't."}
    assert read(refused) == Completion("", 7, 6)
    assert read({"content": "Up", "refusal": None}).text == "Up"
    assert read(refused, "content_filter", usage=None) == Completion("", finish="filtered")
    body = json.dumps({"choices": [{"message": refused}]})
    assert read_completion(body, "") == Completion("")


@pytest.mark.parametrize("content", [7, True, [7], [TEXT, 0.5]])
def test_content_that_holds_no_text_is_asked_for_again(content):
    with pytest.raises(RetryableError, match="an answer without text"):
        read({"content": content})


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_null_content_without_usage_is_an_empty_answer(reason):
    assert read({"content": None}, reason, usage=None) == Completion("", finish=reason)
    thought = {"content": None, "reasoning_content": "Let me"}
    assert read(thought, reason, usage=None) == Completion("", finish=reason, reasoning="Let me")


@pytest.mark.parametrize(
    ("usage", "tokens", "estimated"),
    [
        ({"prompt_tokens": 7}, 1 + 3, True),
        ({"prompt_tokens": 7, "completion_tokens": None}, 1 + 3, True),
        ({"prompt_tokens": 7, "completion_tokens": 0}, 1 + 3, True),
        ({"prompt_tokens": 7, "total_tokens": 50}, 43, True),
        (
            {
                "prompt_tokens": 7,
                "completion_tokens": 0,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            1 + 40,
            True,
        ),
        # Thoughts may be counted separately.
        (
            {
                "prompt_tokens": 7,
                "completion_tokens": 2,
                "total_tokens": 49,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            42,
            True,
        ),
        (
            {
                "prompt_tokens": 7,
                "completion_tokens": 42,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            42,
            False,
        ),
        ({"input_tokens": 7, "output_tokens": 5}, 5, False),
        ({"prompt_tokens": 7.0, "completion_tokens": 6.0}, 6, False),
        *(
            ({"prompt_tokens": 7, "completion_tokens": wrong}, 1 + 3, True)
            for wrong in ("6", -6, 0.5, 10**4000, [6], True)
        ),
        (USAGE, 6, False),
    ],
)
def test_tokens_that_a_server_leaves_out_are_counted_from_what_is_there(usage, tokens, estimated):
    found = read({"content": "Up", "reasoning_content": "Up is free."}, usage=usage)
    assert (found.prompt_tokens, found.completion_tokens) == (7, tokens)
    assert (found.text, found.tokens_estimated) == ("Up", estimated)


def test_an_empty_answer_has_no_tokens():
    for usage in ({"prompt_tokens": 7}, {"prompt_tokens": 7, "completion_tokens": 0}):
        assert read({"content": None}, usage=usage) == Completion("", 7, 0)
        spent = {**usage, "completion_tokens_details": {"reasoning_tokens": 40}}
        found = read({"content": None}, "length", spent)
        assert found == Completion("", 7, 40, "length", tokens_estimated=True)


def test_an_estimate_does_not_prove_that_a_context_is_full():
    body = reply({"content": "Up"}, "length", {"prompt_tokens": 7})
    assert read_completion(body, "", 99).finish == "length"
    assert read_completion(reply({"content": "Up"}, "length"), "", 99).finish == "context"


REASONS = {
    "stop": (
        *("stop", "STOP", "eos", "eos_token", "stop_sequence", "end_turn", "COMPLETE", "completed"),
        *("tool_calls", "function_call", "tool_use", "malformed_function_call", "pause_turn"),
        *("function_call_filter: MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"),
    ),
    "length": (
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "max_output_tokens",
        "token_limit",
        "too_long",
    ),
    "filtered": (
        *("content_filter", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("refusal", "guardrail_intervened", "sensitive", "content_filter: SAFETY", "OTHER"),
        "ERROR_TOXIC",
    ),
}


@pytest.mark.parametrize(("finish", "reason"), [(f, r) for f in REASONS for r in REASONS[f]])
def test_reasons_of_a_whole_answer(finish, reason):
    assert read({"content": "Up"}, reason) == Completion("Up", 7, 6, finish)
    assert read({"content": None}, reason, usage=None) == Completion("", finish=finish)


@pytest.mark.parametrize("reason", ["model_length", "model_context_window_exceeded", "ERROR_LIMIT"])
def test_a_context_that_is_full(reason):
    assert read({"content": "U"}, reason) == Completion("", 7, 6, "context")
    assert read({"content": "Up."}, reason, stop=".").text == "Up."


PIECES = (
    *("abort", "aborted", "error", "cancelled", "canceled", "timeout", "engine_error", "failed"),
    *("insufficient_system_resource", "network_error", "unknown", None, 7, "interrupted"),
    *("incomplete", "FINISH_REASON_UNSPECIFIED", "shutdown", "preempted", ["stop"]),
)


@pytest.mark.parametrize("reason", PIECES)
def test_a_piece_of_an_answer_is_asked_for_again(reason):
    with pytest.raises(RetryableError, match="a piece of an answer, which ended by"):
        read({"content": "Up, Le"}, reason)
    with pytest.raises(RetryableError):
        read({"content": ""}, reason)
    whole = read({"content": "<answer>Up</answer> and"}, reason, stop="</answer>")
    assert whole == Completion("<answer>Up</answer>", 7, 6)


def test_the_reason_of_a_server_behind_a_gateway():
    native = {"native_finish_reason": "MALFORMED_FUNCTION_CALL"}
    assert read({"content": ""}, "error", **native) == Completion("", 7, 6)
    with pytest.raises(RetryableError):
        read({"content": "Up, L"}, "error", native_finish_reason="abort")


def test_a_server_that_reports_no_reason_is_believed():
    body = json.dumps({"choices": [{"message": {"content": "Up"}}], "usage": USAGE})
    assert read_completion(body, "") == read({"content": "Up"}, "") == Completion("Up", 7, 6)
    assert read({"content": "Up"}, {"type": "length"}).finish == "length"


@pytest.mark.parametrize(
    "before", ["\ufeff", "\n\n", ": keep-alive\n\n: keep-alive\n\n", "\ufeff:\n"]
)
def test_what_stands_before_a_reply_is_skipped(before):
    assert read_completion(before + reply({"content": ":\nUp"}), "") == Completion(":\nUp", 7, 6)


@pytest.mark.parametrize(
    "why",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]},
    ],
)
def test_a_prompt_that_a_filter_stopped_has_an_empty_answer(why):
    body = json.dumps({"choices": [], "usage": {"prompt_tokens": 7}, **why})
    assert read_completion(body, "") == Completion("", 7, 0, "filtered")
    with pytest.raises(RetryableError, match="no answer"):
        read_completion(json.dumps({"choices": [], "usage": USAGE}), "")


def test_an_error_in_place_of_an_answer():
    error = {"message": "maximum context length is 8", "code": 400}
    for body in ({"error": error}, {"choices": [{"error": error, "finish_reason": "error"}]}):
        with pytest.raises(ErrorInReplyError) as caught:
            read_completion(json.dumps(body), "")
        assert (caught.value.status, caught.value.body) == (400, error)


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [{"function": {"name": "act", "arguments": '{"action": "Up"}'}}]},
        {"tool_calls": [{"function": {"name": "act", "arguments": {"action": "Up"}}}]},
        {"function_call": {"name": "act", "arguments": '{"action": "Up"}'}},
        {"content": [{"type": "tool_use", "name": "act", "input": {"action": "Up"}}]},
    ],
)
def test_calls_wherever_servers_put_them(message):
    body = reply({"content": None, **message}, "tool_calls")
    text = '<tool_call>{"name": "act", "arguments": {"action": "Up"}}</tool_call>'
    assert read_completion(body, "", calls=True) == Completion(text, 7, 6)


@pytest.mark.slow
def test_estimated_tokens_are_marked_in_the_record_alone(tmp_path):
    game = ["--env", "Bandit-v0", "--limit", "2"]
    with hosted.running() as stub:
        whole = stub.said
        for name, usage in (("counted", USAGE), ("estimated", {"prompt_tokens": 7})):
            stub.said = lambda usage=usage: {**whole(), "usage": usage}
            command = ["evaluate", f"openai/{hosted.NAME}", *game, "--out", name]
            assert run(*command, "--base-url", stub.url, cwd=tmp_path).returncode == 0
    for name, tokens in (("counted", 6), ("estimated", 9)):
        lines = (tmp_path / name / "episodes.jsonl").read_text().splitlines()
        turns = [turn for line in lines for turn in json.loads(line)["turns"]]
        marks = [turn.get("tokens_estimated") for turn in turns]
        assert marks == [True if name == "estimated" else None] * 2
        assert {turn["completion_tokens"] for turn in turns} == {tokens}
        assert len(Run(tmp_path / name).episodes) == 2
        assert run("analyse", name, cwd=tmp_path).returncode == 0
