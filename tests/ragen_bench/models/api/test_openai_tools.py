"""`--format tools` with a server: native calls, records that replay, and what is out of form."""

import json
import re

import pytest
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import TypeAdapter

from ragen_bench.cli import main
from ragen_bench.models import Completion
from ragen_bench.models.api.response import read_completion
from ragen_bench.suites import make_env

from . import llama, proxy

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(list[ChatCompletionFunctionToolParam])
GAMES = ["--suite", "quick"]


def calls(handler, body):
    """Call the first function that is offered, with the first that it takes."""
    asked = json.loads(body)
    if "tools" not in asked:
        return proxy.says(reply({"content": "yes"}))(handler, body)
    function = asked["tools"][0]["function"]
    [(name, schema)] = function["parameters"]["properties"].items()
    item = schema.get("items", schema)
    first = item["enum"][0] if "enum" in item else "Is it alive?"
    value = [first] if schema["type"] == "array" else first
    call = {"name": function["name"], "arguments": json.dumps({name: value})}
    message = {"content": None, "tool_calls": [{"id": "x", "type": "function", "function": call}]}
    return proxy.says(reply(message, "tool_calls"))(handler, body)


def reply(message, reason="stop"):
    return {
        "choices": [{"message": {"role": "assistant", **message}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 6},
    }


def evaluated(between, place):
    command = ["evaluate", f"openai/{llama.NAME}", *GAMES, "--format", "tools", "--out", str(place)]
    return main([*command, "--base-url", between.url])


def test_calls_are_asked_for_recorded_and_replayed(between, tmp_path, capsys):
    between.then = calls
    run, entry = tmp_path / "run", tmp_path / "entry"
    assert evaluated(between, run) == 0
    turns = [
        turn
        for line in (run / "episodes.jsonl").read_text().splitlines()
        for turn in json.loads(line)["turns"]
    ]
    assert len(turns) > 100
    assert all(turn["format_is_valid"] and turn["action_is_valid"] for turn in turns)
    assert all(turn["answer"].startswith("<tool_call>") for turn in turns)
    asked = [body for body in between.bodies if "tools" in body]
    assert len(asked) == len(turns)
    for body in asked:
        assert TOOLS.validate_python(body["tools"]) == body["tools"]
        MESSAGES.validate_python(body["messages"])
        assert "stop" not in body
    longest = max(asked, key=lambda body: len(body["messages"]))["messages"]
    assert [m["role"] for m in longest[:6]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert (
        main(["submit", str(run), "--out", str(entry), "--name", "Calls", "--submitter", "Me"]) == 0
    )
    assert main(["verify", str(entry)]) == 0
    assert main(["analyse", str(run)]) == 0
    capsys.readouterr()


def test_a_missing_call_differs_from_a_wrong_action(between, tmp_path):
    wrong = {"name": "act", "arguments": '{"action": "Nobody"}'}
    said = [{"content": "So.", "tool_calls": [{"function": wrong}]}, {"content": "Up"}]

    def answers(handler, body):
        message = said.pop() if "tools" in json.loads(body) else {"content": "yes"}
        proxy.says(reply(message))(handler, body)

    between.then = answers
    command = ["evaluate", f"openai/{llama.NAME}", "--env", "Bandit-v0", "--limit", "2"]
    options = ["--format", "tools", "--concurrency", "1", "--base-url", between.url]
    assert main([*command, *options, "--out", str(tmp_path / "run")]) == 0
    lines = (tmp_path / "run/episodes.jsonl").read_text().splitlines()
    turns = [json.loads(line)["turns"][0] for line in lines]
    flags = [(turn["format_is_valid"], turn["action_is_valid"]) for turn in turns]
    assert flags == [(False, False), (True, False)]
    assert turns[1]["answer"].startswith("So.\n<tool_call>")


@pytest.mark.parametrize(
    "listed",
    [
        *(3, [3], [{}], [{"function": None}], [{"function": {"name": "act"}}]),
        *([{"function": {"name": 1, "arguments": "{}"}}], [{"name": "act", "arguments": [1]}]),
        [{"function": {"name": None, "arguments": None}}],
    ],
)
def test_a_broken_call_is_an_answer_out_of_form(listed):
    body = json.dumps(reply({"content": None, "tool_calls": listed}))
    answer = read_completion(body, "", calls=True)
    assert answer.text.startswith("<tool_call>")
    env = make_env("ragen/Bandit-v0", "test", "tools")
    env.reset(seed=0)
    *_, info = env.step(answer.text)
    assert not info["action_is_valid"]


def test_calls_without_offered_functions_are_ignored():
    call = {"function": {"name": "act", "arguments": "{}"}}
    body = json.dumps(reply({"content": "Up", "tool_calls": [call]}))
    assert read_completion(body, "") == Completion("Up", 7, 6)


@pytest.mark.parametrize("model", ["demo-agent", "python:own:answer"])
def test_models_that_are_not_asked_for_calls(model, capsys):
    assert main(["evaluate", model, "--suite", "quick", "--format", "tools"]) == 2
    assert f"--format tools does not work with {model}; remove it" in capsys.readouterr().err


UP = {"name": "act", "arguments": '{"actions": ["Up"]}'}
CUT = {"name": "act", "arguments": '{"actions": ["Up", "Le'}
ODD = {"name": "<|im_end|>", "arguments": "{}"}


def refuse_calls(body):
    """Return a real server's error for calls in the history, or None: vLLM's, and llama.cpp's."""
    for message in json.loads(body)["messages"]:
        called = message.get("tool_calls", [])
        if len(called) > 1:
            return 500, "Jinja Exception: This model only supports single tool-calls at once!"
        for call in called:
            if not re.fullmatch("[a-zA-Z0-9_-]+", call["function"]["name"]):
                return 400, "Invalid 'messages[2].tool_calls[0].function.name'"
            try:
                json.loads(call["function"]["arguments"])
            except ValueError as error:
                return 400, f"the arguments of the tool call are not JSON: {error}"
        if called and message["content"] == "":
            return 400, "text content blocks must be non-empty"
    return None


@pytest.mark.parametrize("made", [[CUT], [UP, CUT], [ODD], [UP, UP], [UP]], ids=str)
def test_no_calls_of_a_model_end_its_episode(made, between, tmp_path):
    def answers(handler, body):
        if refused := refuse_calls(body):
            status, words = refused
            return proxy.says({"error": {"message": words}}, status)(handler, body)
        listed = [{"id": "", "type": "function", "function": call} for call in made]
        message = (
            {"content": "", "tool_calls": listed}
            if "tools" in json.loads(body)
            else {"content": "yes"}
        )
        return proxy.says(reply(message, "tool_calls"))(handler, body)

    between.then = answers
    command = ["evaluate", f"openai/{llama.NAME}", "--env", "Sokoban-v0", "--limit", "1"]
    options = ["--format", "tools", "--retries", "0", "--base-url", between.url]
    assert main([*command, *options, "--out", str(tmp_path / "run")]) == 0
    [line] = (tmp_path / "run/episodes.jsonl").read_text().splitlines()
    turns = json.loads(line)["turns"]
    assert len(turns) > 1
    assert {turn["format_is_valid"] for turn in turns} == {made[0] == made[-1] == UP}


def test_a_grammar_cannot_be_combined_with_tools(capsys):
    command = ["evaluate", "openai/x", "--suite", "quick", "--format", "tools", "--constrain"]
    assert main(command) == 2
    assert "--constrain cannot be combined with --format tools" in capsys.readouterr().err
