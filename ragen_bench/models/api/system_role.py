"""Servers whose chat template refuses the system role, or drops its text in silence."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ragen_bench.models.base import Message
from ragen_bench.models.prompt import SYSTEM, opening

_REFUSED = re.compile(
    "system (?:role|message|prompt|instruction)s? (?:is |are )?(?:not|un)[ -]?(?:supported|allowed)"
    "|(?:not|n't) (?:support|accept|allow) (?:the |a )?system|no system (?:role|message|prompt)"
    "|(?:un(?:supported|known|expected)|invalid) (?:message )?role:? ['\"`]?system"
    "|roles must alternate|must alternate between|only (?:the )?user(?:,| and) (?:assistant|model)"
    "|(?:developer|system)[_ ]instruction is not enabled",
    re.IGNORECASE,
)
"""Words of templates (Gemma, Mistral, Llama 2, Zephyr), which servers repeat, and of Google."""


def refuses_system(words: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a server refuses a conversation for its system message."""
    roles = [message["role"] for message in messages[:2]]
    return roles == ["system", "user"] and _REFUSED.search(words) is not None


async def is_dropped(measure: Callable[[Sequence[Message]], Awaitable[int]]) -> bool:
    """Return whether a template drops the system text; False if that cannot be seen.

    `measure` returns the length of a conversation as a model reads it, in tokens or characters, or
    0. A length that a server makes up, or that lacks what its cache holds, is not believed.
    """
    _, *demonstration = opening("think")

    def talk(system: str, user: str) -> list[Message]:
        last: Message = {"role": "user", "content": user}
        return [{"role": "system", "content": system}, *demonstration, last]

    length = await measure(talk("-", "-"))
    if length < _count_words(*(message["content"] for message in demonstration)):
        return False
    if await measure(talk(SYSTEM, "-")) != length:
        return False
    return await measure(talk("-", SYSTEM)) >= length + _count_words(SYSTEM)


def _count_words(*texts: str) -> int:
    """Return half the number of words: fewer tokens than that are not whole texts."""
    return sum(len(text.split()) for text in texts) // 2
