"""The marks of thoughts in a chat template that llama.cpp's server shows next to its API."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ragen_bench.errors import missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.errors import RejectedResponseError, RetryableError
from ragen_bench.models.api.retries import send_in_time
from ragen_bench.models.base import Message
from ragen_bench.models.prompt import opening
from ragen_bench.models.thinking_marks import THINK, ThinkingMarks, find_marks

try:
    import httpx
    import openai
except ImportError as missing:
    raise missing_extra(missing, "openai") from missing

_ANSWERED = "What is answered."
UNSHOWN = (
    *(openai.APIError, RejectedResponseError, RetryableError),
    *(ValueError, LookupError, TypeError, RecursionError),
)
"""Errors of a server that does not show its template: an old version, or a proxy before it."""
_LONGEST_LOOK = 30.0
"""Seconds for what a server shows next to its API; it does not generate for that."""
_MARK = re.compile(r"\s*(<[^<>\s]+>|\[[^\[\]\s]+\])")
"""A special token as templates write it."""


@dataclass(frozen=True)
class ServedTemplate:
    """The known facts of a served model's chat template.

    Attributes:
        marks: Marks of thoughts; None if they are neither given nor shown.
        opening: The thought that it opens for the model, see `ThinkingMarks.opening`.
        turn_ends: Texts of tokens that may end a response.
    """

    marks: ThinkingMarks | None = None
    opening: str = ""
    turn_ends: tuple[str, ...] = ()

    @property
    def thinking(self) -> ThinkingMarks:
        """The marks, or the default."""
        return self.marks or THINK


def find_root(url: str) -> str:
    """Return the URL of a page that a server has next to its API."""
    return url.rstrip("/").removesuffix("/v1")


async def look(client: openai.AsyncOpenAI, address: str, body: JsonObject | None = None) -> Any:
    """Return what a server shows at an address, read as JSON; the errors are `UNSHOWN`."""

    async def send() -> httpx.Response:
        if body is None:
            return await client.get(address, cast_to=httpx.Response)
        return await client.post(address, cast_to=httpx.Response, body=body)

    return (await send_in_time(send, _LONGEST_LOOK)).json()


async def read_template(
    show: Callable[[str, JsonObject | None], Awaitable[Any]], marks: ThinkingMarks | None
) -> ServedTemplate | None:
    """Return what a server shows of its template; None if it shows none, or no marks of thoughts.

    `show` returns what the server shows at a path next to its API, see `look`; `marks` are those
    that the user gives, or None.
    """

    async def render(messages: Sequence[Message]) -> str:
        return str((await show("apply-template", {"messages": list(messages)}))["prompt"])

    asked: Message = {"role": "user", "content": "-"}
    conversation = [*opening("think"), asked]
    try:
        shown = await show("props", None)
        template, end = str(shown["chat_template"]), str(shown.get("eos_token") or "")
        found = marks or find_marks(template)
        if found == THINK and not THINK.occur_in(template):
            return None
        prompt = await render(conversation)
        longer = await render([*conversation, {"role": "assistant", "content": _ANSWERED}, asked])
    except UNSHOWN:
        return None
    following = _MARK.match(longer.partition(_ANSWERED)[2])
    ends = tuple(filter(None, (end, following and following[1])))
    return ServedTemplate(found, found.opening(prompt), ends)
