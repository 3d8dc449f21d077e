"""The only spelling of an announcement that gets a draw."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.thinking_marks import parse_marks
from ragen_bench.runs.differences import brief
from ragen_bench.runs.draws import build_announcement

_LOADED = ("dtype", "system_message", "date", "thinking_marks", "fingerprint", "revision", "engine")
_LISTED = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
_SERVED = (*_LISTED, "listed", "extra_body", "refused", "system_message", "thinking_marks")
_IDENTITIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("hf", "smollm2-135m", "demo-agent"), _LOADED),
    "vllm": (*_LOADED[:-1], "vllm"),
    "gguf": (*_LOADED[1:5], "context", "engine"),
    **dict.fromkeys(("random", "oracle"), ()),
    "python": ("source_sha256",),
    **dict.fromkeys(("openai", "anthropic", "google"), _SERVED),
}
"""Fields of the identities of built-in providers' models; those of third-party ones are free."""
_ONLY = {"listed": False, "system_message": "merged"}
"""Fields with a single value, which are left out where it does not apply."""


def find_other_spelling(announcement: JsonObject) -> str:
    """Return what the canonical form of a valid announcement writes otherwise first, or ""."""
    canonical = build_announcement(announcement)
    for name, value in announcement.items():
        if name not in canonical:
            return f"{name} has to be left out"
        if _text(value) != _text(canonical[name]):
            return f"{name} has another spelling"
    found = _list_flaws(announcement["model"], announcement["model_identity"])
    return next(found, "")


def _text(value: object) -> str:
    """Return a value's text, in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def _list_flaws(model: str, identity: JsonObject) -> Iterator[str]:
    parts = model.split("/")
    is_plain = model.isprintable() and unicodedata.is_normalized("NFC", model)
    if not is_plain or model != " ".join(model.split()) or "." in parts or not parts[-1]:
        yield f"model {brief(model)} has blanks, marks or parts of a path to be left out"
    known = _IDENTITIES.get(re.split("[/:]", model, maxsplit=1)[0])
    for name, value in identity.items():
        where = f"model_identity has {brief(name)}, which"
        if known is not None and name not in known:
            yield f"{where} is unknown"
        elif (
            _has_null(value)
            or value in ("", [], {})
            or _text(_ONLY.get(name, value)) != _text(value)
        ):
            yield f"{where} has to be left out"
    if known == _SERVED and ("listed" in identity) == any(name in identity for name in _LISTED):
        yield "model_identity has either the fields of the server's list, or listed"
    marks, refused = identity.get("thinking_marks"), identity.get("refused")
    if known and marks is not None and not _are_spelled_as_recorded(marks):
        yield "model_identity.thinking_marks has another spelling"
    if known and refused is not None and _text(refused) != _text(sorted(set(map(str, refused)))):
        yield "model_identity.refused has another order"


def _are_spelled_as_recorded(marks: object) -> bool:
    try:
        return parse_marks(str(marks)).identity() == {"thinking_marks": marks}
    except UserError:
        return False


def _has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None
