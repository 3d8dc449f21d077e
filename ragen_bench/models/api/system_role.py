"""Servers whose chat template refuses the system role: its text leads the first user message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

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
