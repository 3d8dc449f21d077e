"""Servers whose chat template refuses the system role, or drops its text in silence."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ragen_bench.models.base import Message
from ragen_bench.models.prompt import SYSTEM, opening
from ragen_envs.core.protocol import format_answer

Part: TypeAlias = Literal["system", "thought"]
"""Part of a conversation that a template may drop: the system text, or an earlier thought."""

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


async def is_dropped(
    measure: Callable[[Sequence[Message]], Awaitable[int]], part: Part = "system"
) -> bool:
    """Return whether a template drops a part of a conversation; False if that cannot be seen.

    `measure` returns the length of a conversation as a model reads it, in tokens or characters, or
    0. A length that a server makes up, or that lacks what its cache holds, is not believed.
    """
    _, *demonstration = opening("think")

    def talk(longer: Part | Literal["observation"] | None) -> list[Message]:
        system, thought, seen = (
            SYSTEM if longer == name else "-" for name in ("system", "thought", "observation")
        )
        return [
            {"role": "system", "content": system},
            *demonstration,
            {"role": "user", "content": "-"},
            {"role": "assistant", "content": format_answer(["Up"], "think", thought)},
            {"role": "user", "content": seen},
        ]

    length = await measure(talk(None))
    # A word has about a token; the whole text of a conversation has more than half as many.
    if 2 * length < sum(len(message["content"].split()) for message in talk(None)):
        return False
    if await measure(talk(part)) != length:
        return False
    return 2 * (await measure(talk("observation")) - length) >= len(SYSTEM.split())
