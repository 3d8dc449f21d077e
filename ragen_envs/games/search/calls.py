"""The functions of the game, and the reader of their calls."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragen_envs.core.call_reader import CallReader
from ragen_envs.core.protocol import FreeText
from ragen_envs.core.tool_calls import Parameter, TypedFunction, form_of, read_call, write_call
from ragen_envs.games.search.world import HITS

EXAMPLE = "CALL"
LONGEST_CALL = 200
"""Most characters of a call; longer texts are none."""
_TEXT = "[a-zA-Z0-9][a-zA-Z0-9 ]{0,99}"
FUNCTIONS = (
    TypedFunction(
        "search", "Search the encyclopedia.", (Parameter("query", "Words.", pattern=_TEXT),)
    ),
    TypedFunction(
        "open", "Open the page of a result.", (Parameter("result", "Its number.", most=HITS),)
    ),
    TypedFunction(
        "answer", "Answer the question.", (Parameter("text", "A name or a year.", pattern=_TEXT),)
    ),
)
_FUNCTIONS = {function.name: function for function in FUNCTIONS}
_NUMBER = re.compile(r"0*([1-9][0-9]{0,3})").fullmatch
_words = re.compile(r"[a-z0-9]+").findall
_ARTICLES = frozenset({"a", "an", "the"})


class Call(NamedTuple):
    """A well-formed call: a function's name and its argument."""

    function: str
    argument: str

    @property
    def text(self) -> str:
        function = _FUNCTIONS[self.function]
        return write_call(function, {function.parameters[0].name: self.argument})


def call_of(text: str) -> Call | None:
    """Return the call in a text in its one spelling; None if it is malformed.

    In a query or an answer, what is not printable ASCII becomes a blank.
    """
    function = _FUNCTIONS.get(text.strip().partition(" ")[0].lower())
    arguments = read_call(function, text) if function else None
    if function is None or arguments is None:
        return None
    [value] = arguments.values()
    if function.parameters[0].most:
        number = _NUMBER(value)
        is_valid = number and int(number[1]) <= HITS
        return Call(function.name, number[1]) if number and is_valid else None
    printable = "".join(char if " " <= char <= "~" else " " for char in value.lower())
    argument = " ".join(printable.split())
    return Call(function.name, argument) if argument else None


def normalize(answer: str) -> str:
    """Return an answer in lower case, without punctuation and articles."""
    return " ".join(word for word in _words(answer.lower()) if word not in _ARTICLES)


class SearchReader(CallReader):
    """Reads any well-formed call, and lists some of them."""

    free = FreeText("", "", LONGEST_CALL, form_of(FUNCTIONS))

    def __init__(self, listed: tuple[str, ...]) -> None:
        super().__init__(listed, EXAMPLE)

    def find_spelling(self, text: str) -> str | None:
        call = call_of(text)
        return call and call.text
