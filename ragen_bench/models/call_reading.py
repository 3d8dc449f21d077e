"""A form of calls, and the calls that responses make in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Completion
from ragen_bench.models.call_arguments import Reader, Types, loosen
from ragen_bench.models.chat_messages import make_id
from ragen_bench.models.thinking_marks import ThinkingMarks, find_thought
from ragen_envs.core.tool_calls import Call, CallError, as_text, parse_calls

_TRIES = 64
"""Beginnings of no call that are tried in a response, so that the cost is bounded."""
_LONGEST_TAIL = 256
_TAIL_MARK = re.compile(r"[^<>\[\]]*[<\[]?[^<>\[\]]+[>\]]?|[<>\[\]]")
"""A mark in the tail of calls, with other text before it."""
_SEPARATOR = re.compile(r"[\s,;]*")


@dataclass(frozen=True)
class CallForm:
    """How a template takes and shows calls.

    Attributes:
        as_json: It takes arguments as a JSON text; otherwise as an object.
        has_names_as_ids: It shows a call by its id, which then has the function's name.
        opening: Marks before the first call.
        between: Marks between two calls.
        has_several: It shows several calls of a response.
        tail: Text behind the last call, without blanks.
        reader: Reads one call, or a list of them.
    """

    as_json: bool
    has_names_as_ids: bool
    has_several: bool
    opening: re.Pattern[str]
    between: re.Pattern[str]
    tail: str
    reader: Reader

    def make_id(self, name: str, number: int, place: int) -> str:
        """Return the id of a call in a message."""
        if self.has_names_as_ids:
            return f"functions.{name}:{(number - 1) // 2 + place}"
        return make_id(name, number, place)

    def read(self, text: str, functions: Sequence[JsonObject]) -> str:
        """Return a response as environments read it; unchanged if it has no calls in this form.

        All calls count, as the `tool_calls` of a server's message do. Texts between them belong to
        the thought. So does a whole call within a thought: the thought ends behind it, or is never
        closed and goes on behind it.
        """
        types: Types = {
            one["function"]["name"]: {
                name: schema.get("type")
                for name, schema in one["function"]["parameters"]["properties"].items()
            }
            for one in functions
        }
        written = text.rstrip()
        calls: list[Call] = []
        gaps: list[str] = []
        first, end, failed, thinks = 0, 0, 0, False
        unknown = -1  # The place of the last call of an unknown function that is not read.
        for mark in self.opening.finditer(written):
            if mark.start() < end or mark.end() <= unknown or failed == _TRIES:
                continue
            try:
                found, stop, last_unknown = self._read_calls(written, mark.end(), types)
            except CallError:
                failed += 1
                continue
            if stop < len(written) and last_unknown >= 0:
                failed += 1  # such as a function that a thought mentions
                unknown = last_unknown
                continue
            before = written[end : mark.start()]
            if not calls or not _SEPARATOR.fullmatch(before):
                closes, opens = find_thought(before)
                if not calls or thinks or closes:
                    first, calls, gaps = mark.start(), [], []
                else:
                    gaps.append(before)
                thinks = opens or (thinks and not closes)
            calls += found
            end = stop
        if not calls or end < len(written):
            return text
        texts = map(str.strip, [written[:first], *gaps])
        return as_text(calls, "\n".join(filter(None, texts)))

    def _read_calls(self, text: str, start: int, types: Types) -> tuple[list[Call], int, int]:
        """Return the calls at a place, one behind the other, and the end of their marks.

        The third is the place of the last one whose function is not in `types`, or -1.
        """
        calls, end = self.reader(text, start, types)
        unknown = -1 if all(call.name in types for call in calls) else start
        while mark := self.between.match(text, end):
            try:
                found, stop = self.reader(text, mark.end(), types)
            except CallError:
                break
            if any(call.name not in types for call in found):
                unknown = mark.end()
            calls += found
            end = stop
        if len(text) - end <= _LONGEST_TAIL and self.tail.startswith("".join(text[end:].split())):
            return calls, len(text), unknown
        closed = self._last_marks.match(text, end)
        return calls, closed.end() if closed else end, unknown

    @cached_property
    def _last_marks(self) -> re.Pattern[str]:
        """Finds the marks behind the last call, or the first ones of them."""
        pattern = ""
        for mark in reversed(_TAIL_MARK.findall(self.tail)):
            pattern = rf"(?:\s*{loosen(mark)}{pattern})?"
        return re.compile(pattern)


def read_completion(
    completion: Completion, marks: ThinkingMarks, read: Callable[[str], str]
) -> Completion:
    """Return a completion without thoughts, with its calls as environments read them.

    `read` is as `CallForm.read`, for the functions that were offered.
    """
    if marks.calls_end_thoughts and not completion.text.strip():
        with suppress(CallError):
            thought, calls = parse_calls(read(marks.begin + completion.reasoning))
            thought = thought.removeprefix(marks.begin).strip()
            return replace(completion, text=as_text(calls), reasoning=thought)
    return replace(completion, text=read(completion.text))
