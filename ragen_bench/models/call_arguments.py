"""The arguments of calls in the syntaxes that models write: JSON, Python, tags, or a bare object.

A reader takes a text, the place where a call begins and the types of arguments. It returns the
calls and the place behind them. A CallError says that the call is missing or malformed.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ragen_envs.core.tool_calls import Call, CallError, load_arguments, read_json

Types: TypeAlias = Mapping[str, Mapping[str, object]]
"""Types in the JSON schemas of arguments, by function and name."""
Reader = Callable[[str, int, Types], tuple[list[Call], int]]
_GAP = re.compile(r"\s+|(?<=[>\]])(?=[<\[])")
_WORD = re.compile(r"[\w.-]{1,64}")
_KWARGS = re.compile(r"\s*\(")
_PYTHON = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?P<open>[(\[{])|(?P<close>[)\]}])|[^'"()\[\]{}]+""",
    re.DOTALL,
)
_DEEPEST = 16
"""Brackets within brackets of a call in Python."""


def loosen(text: str) -> str:
    """Return a regular expression of a text, with any blanks at its blanks and between marks."""
    pieces = r"\s*".join(map(re.escape, filter(None, _GAP.split(text))))
    return re.sub(r":\d+", r":\\d+", pieces)  # calls are numbered


def read_word(text: str, start: int) -> tuple[str, int]:
    """Return the name at a place, and where it ends."""
    if not (word := _WORD.match(text, start)):
        raise CallError("a call has no name")
    return word[0], word.end()


def read_object(wrapper: str, name_key: str, key: str) -> Reader:
    """Return the reader of objects of JSON, or lists of them, with these keys.

    Args:
        wrapper: Key of the object with the name and the arguments; "" if they are outermost.
        name_key: Key of the name; "" if the name is itself the key of the arguments.
        key: Key of the arguments.
    """

    def read(text: str, start: int, _types: Types) -> tuple[list[Call], int]:
        value, end = read_json(text, start)
        calls = []
        for item in value if isinstance(value, list) else [value]:
            part = item.get(wrapper, item) if isinstance(item, dict) else None
            if not isinstance(part, dict):
                raise CallError("a call is an object")
            if name_key:
                name = part.get(name_key)
                given = next((part[k] for k in (key, "arguments", "parameters") if k in part), None)
                pairs = [(name, given)]
            else:
                pairs = list(part.items())
            for name, given in pairs:
                if not isinstance(name, str) or not isinstance(given, str | dict):
                    raise CallError("a call has a name and arguments")
                calls.append(Call(name, given))
        if not calls:
            raise CallError("no function was called")
        return calls, end

    return read


def read_named_json(middle: str) -> Reader:
    """Return the reader of a name, a text by its regular expression, and an object of JSON."""
    between = re.compile(rf"\s*{middle}\s*")

    def read(text: str, start: int, _types: Types) -> tuple[list[Call], int]:
        name, end = read_word(text, start)
        if not (mark := between.match(text, end)):
            raise CallError("a name has no arguments")
        value, end = read_json(text, mark.end())
        if not isinstance(value, dict):
            raise CallError("arguments are an object")
        return [Call(name, value)], end

    return read


def read_python(text: str, start: int, _types: Types) -> tuple[list[Call], int]:
    """Read a call in Python, with keyword arguments."""
    name, end = read_word(text, start)
    if not _KWARGS.match(text, end):
        raise CallError("a name has no arguments")
    source, stop = _read_brackets(text, end)
    node = _parse_python(f"f{source}")
    if not isinstance(node, ast.Call) or node.args:
        raise CallError("arguments have names")
    given: dict[str, object] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in given:
            raise CallError("an argument appears once")
        given[keyword.arg] = _python_value(keyword.value)
    return [Call(name, given)], stop


def read_tagged(name_end: str, opening: str, middles: list[str], closing: str, rest: str) -> Reader:
    """Return the reader of arguments between marks, such as tags of XML.

    Args:
        name_end: Text behind the name of the function.
        opening: Text before the name of an argument.
        middles: Texts between a name and a value.
        closing: Text behind a value.
        rest: Text behind the last argument.
    """
    ended, opened = (
        re.compile(rf"\s*{loosen(name_end)}"),
        re.compile(rf"\s*{loosen(opening)}\s*"),
    )
    middle = re.compile(rf"\s*(?:{'|'.join(map(loosen, middles))})")
    mark = re.match(r"[^<]*<[^<>]*>", rest)
    follows = "|".join(loosen(text) for text in (opening, mark[0] if mark else "") if text.strip())
    closed = re.compile(rf"{loosen(closing)}(?=\s*(?:{follows}))")

    def read(text: str, start: int, types: Types) -> tuple[list[Call], int]:
        name, end = read_word(text, start)
        if not (place := ended.match(text, end)):
            raise CallError("a name is followed by its arguments")
        end, given = place.end(), {}
        while place := opened.match(text, end):
            key, end = read_word(text, place.end())
            begin = middle.match(text, end)
            stop = begin and closed.search(text, begin.end())
            if key in given or not begin or not stop:
                raise CallError("an argument has one value")
            kind = types.get(name, {}).get(key)
            given[key] = _read_value(text[begin.end() : stop.start()].strip(), kind)
            end = stop.end()
        return [Call(name, given)], end

    return read


def read_quoted(quote: str) -> Reader:
    """Return the reader of an object with bare keys, and texts between quotes of another kind."""
    token = re.compile(
        rf"\s*(?:{re.escape(quote)}(?P<text>.*?){re.escape(quote)}|(?P<key>[\w.-]+)(?=\s*:)"
        r'|(?P<mark>[{}\[\],:])|"(?:\\.|[^"\\])*"|[^{}\[\],:\s]+)',
        re.DOTALL,
    )

    def read(text: str, start: int, _types: Types) -> tuple[list[Call], int]:
        name, end = read_word(text, start)
        pieces: list[str] = []
        depth = 0
        while (part := token.match(text, end)) and (pieces or part["mark"] == "{"):
            end = part.end()
            said = part["key"] if part["text"] is None else part["text"]
            pieces.append(json.dumps(said) if said is not None else part[0].strip())
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(part["mark"] or "", 0)
            if depth == 0:
                break
        value = load_arguments("".join(pieces))
        if not isinstance(value, dict):
            raise CallError("arguments are an object")
        return [Call(name, value)], end

    return read


def _read_value(text: str, kind: object) -> object:
    """Return a value that is written without quotes, by its type in the schema."""
    if kind == "string":
        return text
    try:
        return load_arguments(text)
    except CallError:
        pass
    try:
        return _python_value(_parse_python(text)) if text[:1] in ("[", "{") else text
    except CallError:
        return text


def _read_brackets(text: str, start: int) -> tuple[str, int]:
    """Return the text up to the bracket that closes the first one, and its end."""
    depth = 0
    for part in _PYTHON.finditer(text, start):
        depth += (part["open"] is not None) - (part["close"] is not None)
        if depth == 0 and part["close"]:
            return text[start : part.end()].strip(), part.end()
        if depth > _DEEPEST:
            break
    raise CallError("a call is not closed")


def _parse_python(source: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            return ast.parse(source, mode="eval").body
    # Null characters are a ValueError, surrogates a UnicodeError, and many signs the other two.
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CallError(f"a call is not Python: {error}") from None


def _python_value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id="true" | "false" | "null" as name):
            return json.loads(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_python_value(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            names = [key.value if isinstance(key, ast.Constant) else None for key in keys]
            if len(set(names)) == len(names) and all(isinstance(name, str) for name in names):
                return dict(zip(names, map(_python_value, values), strict=True))
    raise CallError("an argument is not a plain value")
