"""The drawn split: instances and noise from a public random value that came after a commitment.

A participant commits to a model and its settings; afterwards a random value is drawn. Commitment
and value give the key of a draw, from which instances and noise follow. The key is public, so it
may be an argument and appear in records.
"""

from __future__ import annotations

import hashlib
import re

_HASHED_AS = b"ragen draw 1\0"
_WELL_FORMED = re.compile(r"[0-9a-f]{64}").fullmatch


def draw_key(commitment: str, value: str) -> str:
    """Return the 64 hex digits from which the instances and the noise of a draw follow.

    They are SHA-256 over a fixed prefix and 64 hex digits each of the commitment, which is the hash
    of an announcement, and of the value drawn after it. A malformed one is a ValueError.
    """
    for name, digits in (("commitment", commitment), ("value", value)):
        if not _WELL_FORMED(digits):
            raise ValueError(f"the {name} of a draw is 64 hex digits 0-9a-f, got {digits!r}")
    return hashlib.sha256(_HASHED_AS + commitment.encode() + value.encode()).hexdigest()


REFERENCE_KEY = draw_key("0" * 64, "0" * 64)
"""Key of the draw that hashes of specifications use, so that they are equal for all draws."""


def check_key(key: str | None) -> str:
    """Return the key of a draw; a missing or malformed one is a ValueError."""
    if not isinstance(key, str) or not _WELL_FORMED(key):
        raise ValueError(
            "the split 'drawn' takes draw=KEY, 64 hex digits as ragen_envs.core.drawn.draw_key "
            f"returns them, got {key!r}"
        )
    return key
