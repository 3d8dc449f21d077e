"""What servers take beyond OpenAI's protocol, by the name that they give themselves.

Two things differ between servers. Most cut the stop text off an answer and do not say whether
they did, so that an answer which ended by itself in the middle of its form could not be told from
a whole one; only a server that can be asked to leave the stop text in is asked to stop there. And
some fall back on sampling settings of the model's or their own, which would change what is
measured; they are switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Dialect:
    """How one kind of server is asked.

    Attributes:
        keeps_stop: whether `extra` makes it leave the stop text in the answer.
        extra: fields of the request that OpenAI's protocol does not know.
    """

    keeps_stop: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


PLAIN = Dialect()
"""For servers that do not say what they are; unknown fields would be refused by some."""
_BY_OWNER = {
    "vllm": Dialect(
        True,
        {
            "include_stop_str_in_output": True,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        },
    ),
    "sglang": Dialect(
        True, {"no_stop_trim": True, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
    ),
    "llamacpp": Dialect(False, {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}),
}


def dialect_of(entry: Mapping[str, Any]) -> Dialect:
    """Return the dialect of the server that lists a model with this entry."""
    return _BY_OWNER.get(str(entry.get("owned_by")), PLAIN)
