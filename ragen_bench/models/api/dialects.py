"""Dialects: what each kind of server takes beyond OpenAI's protocol.

Servers differ in four things. Most cut the stop text off an answer and do not say whether they
did, so that an answer which ended by itself in the middle of its form could not be told from a
whole one; only a server that can be asked to leave the stop text in is asked to stop there. Some
fall back on sampling settings of the model's or their own, which would change what is measured;
they are switched off. Some can hold answers to a grammar. And llama.cpp begins an answer that its
context has no room for, and cuts it there, where others refuse the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragen_bench.models.grammar import answer_gbnf, answer_regex
from ragen_envs.core.player import Player


@dataclass(frozen=True)
class Dialect:
    """How one kind of server is asked.

    Attributes:
        keeps_stop: whether `extra` makes it leave the stop text in the answer.
        extra: fields of the request that OpenAI's protocol does not know.
        constraint: from an environment and the tokens of an answer to the fields that hold the
            answer to the environment's form; None if it cannot.
        fills_context: whether it cuts an answer where the context is full, as if at its limit.
    """

    keeps_stop: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    constraint: Callable[[Player, int], Mapping[str, Any]] | None = None
    fills_context: bool = False


PLAIN = Dialect()
"""For servers that do not say what they are; unknown fields would be refused by some."""
_BY_OWNER = {
    "vllm": Dialect(
        keeps_stop=True,
        extra={
            "include_stop_str_in_output": True,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        },
        constraint=lambda env, tokens: {"structured_outputs": {"regex": answer_regex(env, tokens)}},
    ),
    "sglang": Dialect(
        keeps_stop=True,
        extra={"no_stop_trim": True, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
        constraint=lambda env, tokens: {"regex": answer_regex(env, tokens)},
    ),
    "llamacpp": Dialect(
        extra={
            "top_k": 0,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
            "xtc_probability": 0.0,
            "mirostat": 0,
        },
        constraint=lambda env, tokens: {"grammar": answer_gbnf(env, tokens)},
        fills_context=True,
    ),
}


def dialect_of(entry: Mapping[str, Any]) -> Dialect:
    """Return the dialect of the server that lists a model with this entry."""
    return _BY_OWNER.get(str(entry.get("owned_by")), PLAIN)


def context_of(entry: Mapping[str, Any]) -> int | None:
    """Return the tokens of the context, which vLLM and SGLang name and llama.cpp name apart."""
    meta = entry.get("meta")
    named = entry.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return named if type(named) is int else None
