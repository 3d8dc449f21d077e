# ruff: noqa: RUF001  (marks of models have such letters)
"""Calls in the texts of a server that does not read them, in the forms of model families."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from ragen_bench.json_types import Json, JsonObject
from ragen_bench.models.call_forms import learn_form
from ragen_bench.models.call_reading import CallForm
from ragen_bench.models.chat_messages import encode_arguments
from ragen_envs.core.tool_calls import CallError, as_text, parse_calls


class _Written(NamedTuple):
    """How a family writes calls: NAME, JSON and ARGUMENTS in a call, KEY and VALUE in an argument.

    KIND is "true" for a text. `comma` is between arguments, and `quote` around texts in them;
    `before`, `between` and `after` are around calls.
    """

    call: str
    before: str = ""
    after: str = ""
    between: str = ""
    argument: str = ""
    comma: str = ""
    quote: str = ""


_OBJECT = '{"name": "NAME", "arguments": JSON}'
_PYTHON = ("NAME(ARGUMENTS)", "KEY=VALUE", ", ", '"')
_FAMILIES = {
    "hermes": _Written(f"<tool_call>\n{_OBJECT}\n</tool_call>", between="\n"),
    "mistral": _Written(_OBJECT, "[TOOL_CALLS][", "]", ", "),
    "magistral": _Written("[TOOL_CALLS]NAME[ARGS]JSON"),
    "mistral with ids": _Written("[TOOL_CALLS]NAME[CALL_ID]call00100[ARGS]JSON"),
    "deepseek": _Written(
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\nJSON\n```<｜tool▁call▁end｜>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "\n",
    ),
    "deepseek-v3.1": _Written(
        "<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>JSON<｜tool▁call▁end｜>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek-v3.2": _Written(
        '<｜DSML｜invoke name="NAME">\nARGUMENTS</｜DSML｜invoke>\n',
        "<｜DSML｜function_calls>\n",
        "</｜DSML｜function_calls>",
        argument='<｜DSML｜parameter name="KEY" string="KIND">VALUE</｜DSML｜parameter>\n',
    ),
    "kimi": _Written(
        "<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>JSON<|tool_call_end|>",
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
    ),
    "glm": _Written(
        "<tool_call>NAME\nARGUMENTS</tool_call>",
        between="\n",
        argument="<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n",
    ),
    "seed-oss": _Written(
        "<seed:tool_call>\n<function=NAME>\nARGUMENTS</function>\n</seed:tool_call>",
        between="\n",
        argument="<parameter=KEY>VALUE</parameter>\n",
    ),
    "qwen3-coder": _Written(
        "<tool_call>\n<function=NAME>\nARGUMENTS</function>\n</tool_call>",
        between="\n",
        argument="<parameter=KEY>\nVALUE\n</parameter>\n",
    ),
    "minimax": _Written(
        '<invoke name="NAME">\nARGUMENTS</invoke>\n',
        "<minimax:tool_call>\n",
        "</minimax:tool_call>",
        argument='<parameter name="KEY">VALUE</parameter>\n',
    ),
    "cohere": _Written(
        '{"tool_call_id": "0", "tool_name": "NAME", "parameters": JSON}',
        "<|START_ACTION|>[",
        "]<|END_ACTION|>",
        ", ",
    ),
    "gemma": _Written(
        "<|tool_call>call:NAME{ARGUMENTS}<tool_call|>",
        argument="KEY:VALUE",
        comma=",",
        quote='<|"|>',
    ),
    "granite": _Written(_OBJECT, "<|tool_call|>[", "]", ", "),
    "phi4": _Written(_OBJECT, "<|tool_call|>[", "]<|/tool_call|>", ", "),
    "nemotron": _Written(_OBJECT, "<TOOLCALL>[", "]</TOOLCALL>", ", "),
    "hunyuan": _Written(_OBJECT, "<tool_calls>[", "]</tool_calls>", ", "),
    "gpt-oss": _Written(
        "<|start|>assistant to=functions.NAME<|channel|>commentary json<|message|>JSON<|call|>"
    ),
    "lfm2": _Written(_PYTHON[0], "<|tool_call_start|>[", "]<|tool_call_end|>", ", ", *_PYTHON[1:]),
    "olmo": _Written(_PYTHON[0], "<function_calls>", "</function_calls>", "\n", *_PYTHON[1:]),
    "apertus": _Written('{"NAME": JSON}', "<|tools_prefix|>[", "]<|tools_suffix|>", ", "),
    "invoke": _Written(
        '<invoke name="NAME">\nARGUMENTS</invoke>\n',
        "<function_calls>\n",
        "</function_calls>",
        argument='<parameter name="KEY">VALUE</parameter>\n',
    ),
    "tool_code": _Written(_PYTHON[0], "```tool_code\n", "\n```", "\n", *_PYTHON[1:]),
    "functionary": _Written("<function=NAME>JSON</function>"),
    "internlm": _Written(f"<|action_start|><|plugin|>{_OBJECT}<|action_end|>"),
    "llama4": _Written(_PYTHON[0], "[", "]", ", ", *_PYTHON[1:]),
    "cohere without marks": _Written(
        '{"tool_call_id": "0", "tool_name": "NAME", "parameters": JSON}', "[", "]", ", "
    ),
    "kimi without marks": _Written("functions.NAME:0JSON"),
    "magistral without marks": _Written("NAMEJSON"),
    "fenced JSON": _Written(_OBJECT, "```json\n", "\n```", "\n"),
    "JSON": _Written(_OBJECT, between="\n"),
    "OpenAI's JSON": _Written(
        f'{{"id": "0", "type": "function", "function": {_OBJECT}}}', between="\n"
    ),
    "Python": _Written(_PYTHON[0], "", "", "\n", *_PYTHON[1:]),
}
"""The last forms are those of servers that leave special tokens out of texts, too."""
_PROSE = ("llama4", "Python")
"""Forms in which prose names a function ("I must not call act(...)"), which is not a call."""
_PLACE = re.compile("NAME|JSON|ARGUMENTS|KEY|KIND|VALUE")


def read_served(text: str, functions: Sequence[JsonObject]) -> tuple[str, str]:
    """Return a response as environments read it, and the name of the form of its calls.

    Without a call of a function that is offered, or with calls that differ by the form, the
    response is returned unchanged, and no name.
    """
    known = {one["function"]["name"] for one in functions}
    found: dict[str, tuple[str, str]] = {}
    for name, form in _learn_forms().items():
        answer = form.read(text, functions)
        with suppress(CallError):
            calls = parse_calls(answer).calls
            if all(call.name in known for call in calls):
                found.setdefault(as_text(calls), (answer, name))
    return next(iter(found.values())) if len(found) == 1 else (text, "")


@cache
def _learn_forms() -> dict[str, CallForm]:
    """Return the forms by name."""

    def render(
        written: _Written, messages: Sequence[JsonObject], _functions: Sequence[JsonObject]
    ) -> str:
        texts = []
        for message in messages:
            calls = [_write(written, call["function"]) for call in message.get("tool_calls", [])]
            around = written.before + written.between.join(calls) + written.after if calls else ""
            texts.append(message["content"] + around)
        return "\n\n".join(texts)

    learned = {name: learn_form(partial(render, written)) for name, written in _FAMILIES.items()}
    return {
        name: replace(form, opening=_begin_line(form.opening)) if name in _PROSE else form
        for name, form in learned.items()
        if form
    }


def _begin_line(opening: re.Pattern[str]) -> re.Pattern[str]:
    """Return an opening that begins a line, or stands behind a mark."""
    return re.compile(rf"(?m:^|(?<=[>\]]))[ \t]*(?:{opening.pattern})")


def _write(written: _Written, function: JsonObject) -> str:
    def fill(text: str, places: dict[str, str]) -> str:
        return _PLACE.sub(lambda place: places[place[0]], text)

    def encode(value: Json) -> str:
        if isinstance(value, list) and written.quote:
            return f"[{','.join(map(encode, value))}]"
        is_text = isinstance(value, str)
        return f"{written.quote}{value}{written.quote}" if is_text else encode_arguments(value)

    given = function["arguments"]
    arguments = [
        fill(
            written.argument,
            {"KEY": key, "VALUE": encode(value), "KIND": str(isinstance(value, str)).lower()},
        )
        for key, value in given.items()
    ]
    places = {
        "NAME": function["name"],
        "JSON": encode_arguments(given),
        "ARGUMENTS": written.comma.join(arguments),
    }
    return fill(written.call, places)
