"""Calls as models write them: the form of a chat template, found by rendering a made-up call.

Families write calls in many forms: JSON objects or lists of them behind a mark, a name and JSON,
tags for each argument, or Python. A template shows the form of its model, with its marks. Parsers
of other libraries need the name of the family, a response schema that few tokenizers have, or a
grammar that constrains the answers. A response in the form becomes the text that environments read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.call_arguments import (
    Reader,
    loosen,
    read_named_json,
    read_object,
    read_python,
    read_quoted,
    read_tagged,
)
from ragen_bench.models.call_reading import CallForm
from ragen_bench.models.chat_messages import RefusedConversationError, encode_arguments, make_id
from ragen_envs.core.tool_calls import Call, CallError, as_text, load_arguments, read_json

Render = Callable[[Sequence[JsonObject], Sequence[JsonObject]], str]
"""Renders messages and functions; a RefusedConversationError says that the template does not."""
_NAME, _OTHER, _THOUGHT, _PLAIN, _RESULT = "zqname", "zqother", "zqthought", "zqplain", "zqresult"
_FIRST, _SECOND, _TEXT, _ITEM = "zqfirst", "zqsecond", "zqtext", "zqitem"
_ARGUMENTS: JsonObject = {_FIRST: _TEXT, _SECOND: [_ITEM]}
_USER: JsonObject = {"role": "user", "content": "-"}
_NO_CALL = "the template does not show the name of a function"
_ID = r"call001\d\d|functions\.zq\w+:\d"
_THOUGHT_END = re.compile(r"^\s*[<\[][^<>\[\]]*think[^<>\[\]]*[>\]]", re.IGNORECASE)
_HARMONY = " to=functions."
"""In the template this follows the role, but models write the channel before it."""
_HARMONY_OPENING = (
    r"(?:(?:<\|start\|>)?assistant)?(?:(?:<\|channel\|>)?(?:analysis|commentary))? ?to=functions\."
)
_HARMONY_MIDDLE = "[^{}]*"
"""Ends with a mark, which some servers leave out of the text."""


def make_function(name: str) -> JsonObject:
    """Return a made-up function."""
    properties = {
        _FIRST: {"type": "string", "description": "-"},
        _SECOND: {"type": "array", "items": {"type": "string"}, "description": "-"},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": name, "description": "-", "parameters": schema}
    return {"type": "function", "function": about}


_FUNCTIONS = [make_function(_NAME), make_function(_OTHER)]


def learn_form(render: Render) -> CallForm | None:
    """Return the form of a template's calls, or None if it shows none.

    Raises:
        UserError: It shows them in a form that cannot be read.
    """
    shows_calls = False
    for has_names_as_ids in (False, True):
        for as_json in (False, True):
            with suppress(RefusedConversationError):
                try:
                    return _learn(render, as_json, has_names_as_ids)
                except CallError as error:
                    shows_calls |= str(error) != _NO_CALL
    if shows_calls:
        raise UserError(
            "the model's chat template shows calls in a form that cannot be read; remove "
            "--format tools"
        )
    return None


def _learn(render: Render, as_json: bool, has_names_as_ids: bool) -> CallForm:
    def show(*names: str) -> str:
        ids = [
            f"functions.{name}:{place}" if has_names_as_ids else make_id(name, 1, place)
            for place, name in enumerate(names)
        ]
        return _show_calls(render, as_json, dict(zip(names, ids, strict=True)))

    one = show(_NAME)
    start, end, reader, bare = _find_reader(one)
    head, gap = _THOUGHT_END.sub("", one[:start]), ""
    tail, two = re.split(_ID, one[end:])[0], ""
    with suppress(RefusedConversationError):
        two = show(_NAME, _OTHER)
        begin = next((n for n in range(len(two)) if _reads(reader, two, n, _OTHER)), end)
        gap = two[end:begin]
    # Some models leave the marks out that stand before all calls.
    inner = re.search(r"[<\[].*", _common(head[::-1], gap[::-1])[::-1], re.DOTALL)
    last = re.search(r"[<\[][^<\[]*$", head) if one[start] in "[{" else None
    marks = dict.fromkeys([head, *(found[0] for found in (inner, last) if found)])
    openings = [_literal(mark) for mark in marks if mark.strip()]
    between = _literal(gap) if re.search(r"\w", gap) else r"[;,]?\s*(?=[\w{])"
    if _HARMONY in head:
        openings, between = [_HARMONY_OPENING], rf"(?:<\|call\|>)?\s*{_HARMONY_OPENING}"
        tail = "<|call|>"
        reader = read_named_json(_HARMONY_MIDDLE)
    form = CallForm(
        as_json,
        has_names_as_ids,
        _OTHER in two,
        re.compile(rf"(?:{'|'.join(openings)})\s*" if openings else bare),
        re.compile(rf"\s*{between}\s*"),
        "".join(tail.split()),
        reader,
    )
    own = form.read(one[:end] + tail, _FUNCTIONS)
    if _HARMONY not in head and not own.endswith(as_text([Call(_NAME, _ARGUMENTS)])):
        raise CallError("the template's own call cannot be read")
    return form


def _show_calls(render: Render, as_json: bool, ids: dict[str, str]) -> str:
    """Return what a template shows of an answer that makes calls, behind its thought."""
    arguments = encode_arguments(_ARGUMENTS) if as_json else _ARGUMENTS
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, call_id in ids.items()
    ]
    results = [{"role": "tool", "tool_call_id": one, "content": _RESULT} for one in ids.values()]
    refusal = RefusedConversationError("no calls")
    for content, behind in ((_THOUGHT, results), ("", results), ("", [])):
        answer = {"role": "assistant", "content": content, "tool_calls": calls}
        try:
            text = render([_USER, answer, *behind], _FUNCTIONS)
        except RefusedConversationError as error:
            refusal = error
            continue
        plain = render([_USER, {"role": "assistant", "content": _PLAIN}, _USER], _FUNCTIONS)
        before = plain[: plain.find(_PLAIN)]
        if not text.startswith(before):
            before = _common(text, render([_USER], _FUNCTIONS))
        shown = text[len(before) :].partition(_RESULT)[0]
        return shown.rpartition(_THOUGHT)[2]
    raise refusal


def _find_reader(shown: str) -> tuple[int, int, Reader, str]:
    """Return where the made-up call is in a text, its reader, and what it begins with."""
    name = shown.find(_NAME)
    if name < 0:
        raise CallError(_NO_CALL)
    behind = name + len(_NAME)
    for place in re.finditer(r"[\[{]", shown):
        with suppress(CallError):
            value, end = read_json(shown, place.start())
            if keys := _find_keys(value):
                known = "|".join(filter(None, (*keys, "id", "tool_call_id", "type")))
                bare = rf'(?:<\|python_tag\|>\s*)?(?=(?:\[\s*)?\{{\s*"(?:{known})")'
                return place.start(), end, read_object(*keys), bare
            if value == _ARGUMENTS and behind <= place.start():
                reader = read_named_json(_literal(shown[behind : place.start()]))
                return name, end, reader, r"\A\s*"
    with suppress(CallError):
        return name, read_python(shown, name, {})[1], read_python, r"(?<![\w.-])(?=[\w.-]{1,64}\()"
    pieces = re.search(
        rf"{_NAME}(?P<begin>.*?){_FIRST}(?P<middle>.*?){_TEXT}(?P<gap>.*?){_SECOND}"
        rf"(?P<other>.*?)\[[^\[]*?{_ITEM}.*?\]",
        shown,
        re.DOTALL,
    )
    if not pieces:
        raise CallError("the template does not show the arguments of a call")
    begin, middle, gap, rest = *pieces.group("begin", "middle", "gap"), shown[pieces.end() :]
    if begin.strip() == "{" and middle.startswith(":"):
        reader = read_quoted(middle[1:].strip())
    else:
        opening = _common(begin[::-1], gap[::-1])[::-1]
        closing = gap[: len(gap) - len(opening)]
        middles = [middle, pieces["other"]]
        rest = rest.lstrip().removeprefix(closing.strip())
        reader = read_tagged(begin[: len(begin) - len(opening)], opening, middles, closing, rest)
    return name, reader(shown, name, {})[1], reader, r"\A\s*"


def _find_keys(value: object) -> tuple[str, str, str] | None:
    """Return the keys of the made-up call in JSON, as `read_object` takes them."""
    item = value[0] if isinstance(value, list) and value else value
    if not isinstance(item, dict):
        return None
    if item.get(_NAME) == _ARGUMENTS:
        return "", "", _NAME
    for wrapper, part in [("", item), *item.items()]:
        if isinstance(part, dict):
            names = [key for key, inner in part.items() if inner == _NAME]
            keys = [key for key, inner in part.items() if _is_arguments(inner)]
            if names and keys:
                return wrapper, names[0], keys[0]
    return None


def _is_arguments(value: object) -> bool:
    with suppress(CallError):
        return isinstance(value, str | dict) and load_arguments(value) == _ARGUMENTS
    return False


def _reads(reader: Reader, text: str, start: int, name: str) -> bool:
    with suppress(CallError):
        return reader(text, start, {})[0][0].name == name
    return False


def _literal(text: str) -> str:
    """Return a regular expression of marks, with any id in the place of a made-up one."""
    return re.sub(_ID, r"[^\\s<>\\[\\]{}]*", loosen(text))


def _common(one: str, other: str) -> str:
    """Return the text with which both begin."""
    length = min(len(one), len(other))
    return one[: next((n for n in range(length) if one[n] != other[n]), length)]
