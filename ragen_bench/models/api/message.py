"""The message in a server's reply: its text, thoughts and calls, why it ended, and its tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import MAX_TOKENS, Finish
from ragen_envs.core.tool_calls import Call

_TEXTS = ("text", "output_text", "content", "value")
"""Fields of a part that hold its text, or parts of it."""
_THOUGHTS = ("thinking", "reasoning", "reasoning_content", "thought", "summary", *_TEXTS)
_REASONING_FIELDS = (
    *("reasoning_content", "reasoning", "thinking", "reasoning_details", "reasoning_text"),
    *("thought", "thoughts"),
)
"""Names of a message's reasoning; OpenAI's protocol has none."""
_CALLS = ("tool_use", "tool_call", "function_call")
"""Types of parts that are calls."""
_THOUGHT_TYPE = re.compile("think|thought|reason|analysis|summary")
_CHARACTERS = 4
"""Characters of a token, where a server does not count."""
_ENDS: dict[Finish, re.Pattern[str]] = {
    # A malformed call is the model's: the answer is out of form.
    "stop": re.compile("malformed|tool|function|call"),
    "context": re.compile("context|model_length|error_limit"),
    "length": re.compile(
        "length|max.*tokens|token_limit|^limit|output_limit|too_long|token_budget|repetition"
    ),
    "filtered": re.compile(
        "filter|safety|refus|recitation|blocklist|block_list|blocked|prohibited|spii|moderat"
        "|guardrail|sensitive|policy|language|toxic|^other$"
    ),
}
"""Finish reasons of servers in lower case, the first that is found; a whole answer has others."""
_WHOLE = re.compile("stop|eos|^end|turn|complete|done|^finish(ed)?$|natural")
_PASSING = re.compile(
    "error(?!_(?:limit|toxic))|abort|cancel|fail|interrupt|timeout|incomplete|preempt|unexpected_end"
)


class ProtocolError(Exception):
    """A message that breaks the protocol; the text says what the server sent."""


class Tokens(NamedTuple):
    """Tokens of a reply; `estimated` if the server did not count those of the completion."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False


def read_content(message: JsonObject) -> tuple[str | None, str]:
    """Return the text of a message, None without one, and its thoughts.

    The content is a text or a list of parts. A refusal has no text.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if isinstance(part, Mapping) and _is_thought(part):
            thoughts.append(_collect(part, _THOUGHTS))
        elif isinstance(part, str | Mapping):
            texts.append(_collect(part, _TEXTS))
        elif part is not None:
            raise ProtocolError("an answer without text")
    for name in _REASONING_FIELDS:
        if (field := message.get(name)) and (thought := _collect(field, _THOUGHTS)):
            thoughts = [thought]
            break
    return "".join(texts) if texts else None, "\n".join(filter(None, thoughts))


def _is_thought(part: Mapping[str, object]) -> bool:
    return part.get("thought") is True or bool(_THOUGHT_TYPE.search(str(part.get("type", ""))))


def _collect(part: object, names: tuple[str, ...]) -> str:
    """Return the text of a part; "" for one that can hold none, such as a picture."""
    if isinstance(part, list):
        return "".join(_collect(inner, names) for inner in part)
    if isinstance(part, Mapping):
        return next(filter(None, (_collect(part.get(name), names) for name in names)), "")
    return part if isinstance(part, str) else ""


def read_calls(message: JsonObject) -> list[Call]:
    """Return the calls in a message; the game checks their names and arguments.

    What is missing or of another type in a call is the model's doing: the answer is out of form.
    """
    listed, content, legacy = (message.get(n) for n in ("tool_calls", "content", "function_call"))
    if not listed and isinstance(content, list):
        listed = [part for part in content if isinstance(part, dict) and part.get("type") in _CALLS]
    if not listed and isinstance(legacy, dict):
        listed = [legacy]
    calls = []
    for call in listed if isinstance(listed, list) else [None] if listed else []:
        fields = call.get("function", call) if isinstance(call, dict) else None
        fields = fields if isinstance(fields, dict) else {}
        name, arguments = fields.get("name"), fields.get("arguments", fields.get("input"))
        if arguments is not None and not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        calls.append(Call(name if isinstance(name, str) else "", arguments or ""))
    return calls


def read_finish(choice: JsonObject) -> Finish:
    """Return why an answer ended; a ProtocolError says that the server broke it off.

    A server that reports no reason is believed to have ended by itself.
    """
    ended = choice.get("finish_reason", "")
    if ended == "":
        return "stop"
    if isinstance(ended, dict):  # of older SGLang
        ended = ended.get("type")
    reasons = [choice.get("native_finish_reason"), ended]  # OpenRouter has both
    for reason in (str(reason).lower() for reason in reasons if isinstance(reason, str)):
        if _PASSING.search(reason):
            continue
        for finish, pattern in _ENDS.items():
            if pattern.search(reason):
                return finish
        if _WHOLE.search(reason):
            return "stop"
    raise ProtocolError(f"a piece of an answer, which ended by {ended!r}")


def count_tokens(usage: object, written: str, thoughts: str) -> Tokens:
    """Return the tokens of a reply, whose completion has a text and thoughts.

    Where a server leaves the completion's tokens out, miscounts them, or counts less than those of
    its thoughts, they are the total less the prompt's, or else estimated.
    """
    if usage is None:
        return Tokens()
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    details = details if isinstance(details, dict) else usage
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    of_thoughts = _count(details, "reasoning_tokens") or 0
    total = _count(usage, "total_tokens") or 0
    is_counted = completion or not (written or thoughts)
    if completion is not None and completion >= of_thoughts and is_counted:
        return Tokens(prompt or 0, completion)
    rest = max(0, total - prompt) if prompt is not None else 0
    estimated = (completion or _estimate(written)) + (of_thoughts or _estimate(thoughts))
    counted = rest or estimated
    return Tokens(prompt or 0, counted, estimated=counted > 0)


def _estimate(text: str) -> int:
    return ceil(len(text) / _CHARACTERS)


def _count(fields: JsonObject, *names: str) -> int | None:
    """Return the first of several counts that a server gives; None for one that is not a count."""
    count = next((fields[name] for name in names if fields.get(name) is not None), None)
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    return count if type(count) is int and 0 <= count < MAX_TOKENS else None
