"""Dialects of OpenAI's protocol: what each kind of server takes beyond it.

Servers differ in four ways:

- Most cut the stop text off a completion without saying so, and a whole answer then looks like one
  that ended early. Only servers that can keep the stop text are sent one.
- Some apply sampling settings of the model or their own, which would change the measurement. These
  are switched off.
- Some can constrain completions by a grammar.
- llama.cpp cuts a completion where its context is full; others refuse the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragen_bench.models.grammar import answer_gbnf, answer_regex
from ragen_envs.core.protocol import Player


@dataclass(frozen=True)
class Dialect:
    """The fields of one kind of server's requests.

    Attributes:
        keeps_stop: `extra` makes the server keep the stop text in the completion.
        extra: Request fields beyond OpenAI's protocol.
        constrain: Maps an environment and the token limit to the fields that constrain a
            completion to the environment's format; None if the server cannot.
        cuts_at_context: The server cuts a completion where the context is full.
    """

    keeps_stop: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    constrain: Callable[[Player, int], Mapping[str, Any]] | None = None
    cuts_at_context: bool = False


PLAIN = Dialect()
"""Servers of an unknown kind; some refuse unknown fields."""
_NEUTRAL = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
_BY_OWNER = {
    "vllm": Dialect(
        keeps_stop=True,
        extra={"include_stop_str_in_output": True, **_NEUTRAL},
        constrain=lambda env, tokens: {"structured_outputs": {"regex": answer_regex(env, tokens)}},
    ),
    "sglang": Dialect(
        keeps_stop=True,
        extra={"no_stop_trim": True, **_NEUTRAL},
        constrain=lambda env, tokens: {"regex": answer_regex(env, tokens)},
    ),
    "llamacpp": Dialect(
        extra={
            **{"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0},
            **{"xtc_probability": 0.0, "mirostat": 0},
        },
        constrain=lambda env, tokens: {"grammar": answer_gbnf(env, tokens)},
        cuts_at_context=True,
    ),
}


def find_dialect(entry: Mapping[str, Any]) -> Dialect:
    """Return the dialect of the server whose list of models has this entry."""
    return _BY_OWNER.get(str(entry.get("owned_by")), PLAIN)


def read_context(entry: Mapping[str, Any]) -> int | None:
    """Return the context length in a model's entry: vLLM and SGLang, or llama.cpp."""
    meta = entry.get("meta")
    tokens = entry.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return tokens if type(tokens) is int else None
