"""What came with a call goes back with it: servers that answer 400 if it does not."""

import itertools
import json

import pytest

from ragen_bench.cli import main

from . import hosted

pytestmark = pytest.mark.slow
GAME = ["--env", "FrozenLake-v0", "--limit", "2", "--format", "tools", "--concurrency", "1"]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, "sk-0123456789-secret")


class Calling:
    """Calls the offered function in each turn, and checks what came with earlier calls.

    `given` has what came with each call by its id, `refused` the words of refusals, and `plain`
    the turns that have no call.
    """

    plain = ()

    def __init__(self, url):
        super().__init__(url)
        self.numbers, self.given, self.refused = itertools.count(), {}, []

    def reply(self, body):
        if not body.get("tools"):
            return super().reply(body)
        if wrong := self.check(body):
            self.refused.append(wrong)
            return 400, self.error(400, {"message": wrong})
        number = next(self.numbers)
        return 200, self.told(number) if number in self.plain else self.call(number)


def message_of(number, **fields):
    arguments = json.dumps({"actions": ["Right" if number % 2 else "Down"]})
    call = {"type": "function", "function": {"name": "act", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call | {"id": f"id-{number}"}]} | {
        **fields
    }


def reply_of(message, reason="tool_calls"):
    usage = {"prompt_tokens": 11, "completion_tokens": 7}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


class OpenAI(Calling, hosted.Hosted):
    """Demands a field of messages or of calls back, as it came."""

    field, on_call, words = "", False, ""
    demands_all = False

    def value(self, number):
        return f"{self.field} {number}"

    def told(self, number):
        return reply_of({"content": "I wait.", self.field: self.value(number)}, "stop")

    def call(self, number):
        message = message_of(number)
        (message["tool_calls"][0] if self.on_call else message)[self.field] = self.value(number)
        return reply_of(message)

    def check(self, body):
        turns = [m for m in body["messages"] if m["role"] == "assistant"]
        for turn in turns:
            calls = turn.get("tool_calls")
            holder = calls[0] if calls and self.on_call else turn
            if not calls and not self.demands_all:
                if self.field in turn:
                    return f"{self.field} is not supported in a turn without a call"
                continue
            if self.field not in holder:
                return self.words
            if calls and holder[self.field] != self.value(int(calls[0]["id"].removeprefix("id-"))):
                return f"{self.field} was changed"
        ids = {call["id"] for turn in turns for call in turn.get("tool_calls") or []}
        told = {m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"}
        return "" if ids == told else "tool results without calls"


class GoogleCompatible(OpenAI):
    field, on_call = "extra_content", True
    words = "Function call is missing a thought_signature in functionCall parts."

    def value(self, number):
        return {"google": {"thought_signature": f"c2ln{number:04d}"}}


class LiteLLM(GoogleCompatible):
    field = "provider_specific_fields"


class OpenRouter(OpenAI):
    field, words = "reasoning_details", "Expected thinking, but found tool_use."

    def value(self, number):
        return [{"type": "reasoning.encrypted", "data": f"x{number}", "id": f"id-{number}"}]


class DeepSeek(OpenAI):
    field = "reasoning_content"
    words = "The `reasoning_content` in the thinking mode must be passed back to the API."


class DeepSeekInAllTurns(DeepSeek):
    demands_all = True


def evaluated(name, stub, place, *options):
    command = ["evaluate", f"{name}/{hosted.NAME}", *GAME, "--base-url", stub.url, *options]
    code = main([*command, "--retries", "0", "--out", str(place)])
    assert code == 0
    assert not (place / "faults.jsonl").exists() or not (place / "faults.jsonl").read_text()
    lines = (place / "episodes.jsonl").read_text().splitlines()
    return [turn for line in lines for turn in json.loads(line)["turns"]]


@pytest.mark.parametrize("kind", [GoogleCompatible, LiteLLM, OpenRouter, DeepSeek])
@pytest.mark.parametrize("history", ["full", "1"])
@pytest.mark.parametrize("plain", [(), (1,)])
def test_a_server_gets_back_what_it_demands(tmp_path, kind, history, plain):
    with hosted.running(kind) as stub:
        stub.plain = plain
        turns = evaluated("openai", stub, tmp_path / "run", "--history", history)
    assert len(turns) > 2
    assert [turn["format_is_valid"] for turn in turns[:2]] == [True, not plain]
    # Thoughts go back on demand only, since other servers refuse them.
    assert stub.refused == [DeepSeek.words] * (kind is DeepSeek)


def test_a_server_may_demand_thoughts_of_all_turns(tmp_path):
    with hosted.running(DeepSeekInAllTurns) as stub:
        stub.plain = (1,)
        evaluated("openai", stub, tmp_path / "run")
    assert stub.refused == [DeepSeek.words] * 2


def test_other_servers_get_no_thoughts(tmp_path):
    class Strict(DeepSeek):
        def check(self, body):
            assert not any(self.field in message for message in body["messages"])
            calls = [c for m in body["messages"] for c in m.get("tool_calls", ())]
            assert all(call["id"].startswith("call") for call in calls)  # as ever

    with hosted.running(Strict) as stub:
        assert len(evaluated("openai", stub, tmp_path / "run")) > 2


class Anthropic(Calling, hosted.Anthropic):
    """Demands all blocks of a turn with a call, in their order."""

    def told(self, number):
        return self.said()

    def call(self, number):
        act = {"actions": ["Right" if number % 2 else "Down"]}
        self.given[f"toolu_{number}"] = blocks = [
            {"type": "thinking", "thinking": f"So {number}.", "signature": f"sig{number}"},
            {"type": "redacted_thinking", "data": f"hidden{number}"},
            {"type": "thinking", "thinking": "And so.", "signature": f"again{number}"},
            {"type": "text", "text": "I act."},
            {"type": "tool_use", "id": f"toolu_{number}", "name": "act", "input": act},
        ]
        return {**self.said(), "content": blocks, "stop_reason": "tool_use"}

    def check(self, body):
        if not all(message["content"] for message in body["messages"]):
            return "messages: text content blocks must be non-empty"
        for message, after in itertools.pairwise(body["messages"]):
            if message["role"] == "assistant" and isinstance(message["content"], list):
                called = message["content"][-1]["id"]
                if message["content"] != self.given.get(called):
                    return "Expected `thinking`, but found `tool_use`."
                if after["content"][0]["tool_use_id"] != called:
                    return "tool_use ids were found without tool_result blocks"
        return ""


class Google(Calling, hosted.Google):
    """Demands the signature of each call, and the ids that it gave."""

    def told(self, number):
        return self.said()

    def call(self, number):
        act = {"actions": ["Right" if number % 2 else "Down"]}
        self.given[f"g{number}"] = f"c2ln{number:04d}"
        parts = [
            {"text": f"So {number}.", "thought": True},
            {
                "functionCall": {"id": f"g{number}", "name": "act", "args": act},
                "thoughtSignature": f"c2ln{number:04d}",
            },
        ]
        reply = self.said()
        reply["candidates"][0]["content"] = {"role": "model", "parts": parts}
        return reply

    def check(self, body):
        for message, after in itertools.pairwise(body["contents"]):
            for part in message["parts"]:
                if part.get("text") == "":
                    return "Unable to submit request because it must have a text parameter"
                if call := part.get("functionCall"):
                    if part.get("thoughtSignature") != self.given.get(call["id"]):
                        return "Function call is missing a thought_signature"
                    if after["parts"][0]["functionResponse"]["id"] != call["id"]:
                        return "function response without a call"
        return ""


KINDS = {"anthropic": Anthropic, "google": Google}


@pytest.mark.parametrize("provider", KINDS)
@pytest.mark.parametrize("plain", [(), (1,)])
@pytest.mark.parametrize("answer", ["I wait.", ""])
def test_a_provider_gets_back_what_it_signed(tmp_path, provider, plain, answer):
    with hosted.running(KINDS[provider]) as stub:
        stub.plain, stub.answer = plain, answer
        turns = evaluated(provider, stub, tmp_path / "run")
    assert len(turns) > 2
    assert [turn["format_is_valid"] for turn in turns[:2]] == [True, not plain]
    assert stub.refused == []
    thoughts = {"anthropic": "So 0.\nAnd so.", "google": "So 0."}
    assert turns[0]["reasoning"] == thoughts[provider]
    assert {turn["finish"] for turn in turns} == {"stop"}
