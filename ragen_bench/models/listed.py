"""What a server's list says of a model: what is recorded of it, and what identifies the model."""

from __future__ import annotations

import json

from ragen_bench.json_types import Json, JsonObject
from ragen_bench.reading import is_deep

_FIELDS = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""Fields of a server's entry that are recorded."""
_MATTERS = ("id", "root", "parent", "max_model_len")
_WEIGHTS = ("n_params", "size", "n_vocab", "n_embd", "n_ctx_train", "n_ctx")
"""Fields of llama.cpp's `meta` that follow from the model's file and its context."""
ENGINES = ("vllm", "sglang", "llamacpp")
"""Owners of models that name the engine, and no company."""
_MAX_NUMBER, _MAX_DEPTH, _MAX_LENGTH = 10**15, 8, 1 << 14


def describe_entry(entry: JsonObject) -> JsonObject:
    """Return what is recorded of a server's entry, without numbers and texts beyond all use."""
    found = {name: _bound(entry[name]) for name in _FIELDS if entry.get(name) is not None}
    known = {name: value for name, value in found.items() if value is not None}
    return known or {"listed": False}


def read_context(entry: JsonObject) -> int | None:
    """Return the context length of a model in tokens, if its server reports it."""
    meta = entry.get("meta")  # of llama.cpp
    n_ctx = meta.get("n_ctx") if isinstance(meta, dict) else None
    tokens = entry.get("max_model_len") or n_ctx
    return tokens if type(tokens) is int and 0 < tokens < _MAX_NUMBER else None


def keep_listed(recorded: JsonObject, here: JsonObject) -> JsonObject:
    """Return an identity with what the server listed when the run began."""
    if not (_is_served(recorded) and _is_served(here)):
        return here
    asked = {name: value for name, value in here.items() if not _is_listed(name)}
    return {name: value for name, value in recorded.items() if _is_listed(name)} | asked


def comparable(there: JsonObject, here: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return two identities without what a server may list otherwise for the same model.

    Compared are the name, the weights and the context where both lists have them, the engine where
    both name one, and all that is not of the list.
    """
    if not (_is_served(there) and _is_served(here)):
        return there, here
    return _relevant(there, here), _relevant(here, there)


def _relevant(one: JsonObject, other: JsonObject) -> JsonObject:
    found = {name: value for name, value in one.items() if not _is_listed(name)}
    found |= {name: one[name] for name in _MATTERS if name in one and name in other}
    if one.get("owned_by") in ENGINES and other.get("owned_by") in ENGINES:
        found["owned_by"] = one["owned_by"]
    metas = one.get("meta"), other.get("meta")
    if isinstance(metas[0], dict) and isinstance(metas[1], dict):
        found["meta"] = {n: metas[0][n] for n in _WEIGHTS if n in metas[0] and n in metas[1]}
    return found


def _is_served(identity: JsonObject) -> bool:
    return "id" in identity or "listed" in identity


def _is_listed(name: str) -> bool:
    return name in _FIELDS or name == "listed"


def _bound(value: Json) -> Json:
    """Return a value whose numbers can be read again; None for a text or an object too large."""
    if is_deep(value, _MAX_DEPTH):
        return None
    bounded = _bound_numbers(value)
    return bounded if len(json.dumps(bounded)) <= _MAX_LENGTH else None


def _bound_numbers(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _bound_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_bound_numbers(item) for item in value]
    if isinstance(value, int | float) and not abs(value) < _MAX_NUMBER:  # also NaN
        return None
    return value
