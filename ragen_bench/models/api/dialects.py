"""Extensions of OpenAI's protocol, by kind of server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ragen_bench.json_types import JsonObject
from ragen_bench.models.grammar import answer_gbnf, answer_regex
from ragen_envs.core.protocol import Player


@dataclass(frozen=True)
class Dialect:
    """Extensions of OpenAI's protocol that one kind of server takes.

    Most servers cut the stop text off a completion without saying so, and a whole answer then looks
    like one that ended early: only those that keep the stop text, by their `extra` fields, are sent
    one. `extra` also switches off sampling settings of the model or the server, which would change
    the measurement. `constrain` maps an environment and the token limit to the fields that
    constrain a completion to the environment's format; None if the server cannot. With
    `cuts_at_context`, the server cuts a completion where the context is full; others refuse the
    request.
    """

    keeps_stop: bool = False
    extra: JsonObject = field(default_factory=dict)
    constrain: Callable[[Player, int], JsonObject] | None = None
    cuts_at_context: bool = False


PLAIN = Dialect()
"""Servers of an unknown kind; some refuse unknown fields."""
_NEUTRAL = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
_LLAMA = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0, "xtc_probability": 0.0, "mirostat": 0}
DIALECTS = {
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
        extra=_LLAMA,
        constrain=lambda env, tokens: {"grammar": answer_gbnf(env, tokens)},
        cuts_at_context=True,
    ),
}
"""By the owner of the models that a server lists."""
