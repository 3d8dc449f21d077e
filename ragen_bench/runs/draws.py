"""Announcements of runs, and the random draws that answer them.

An announcement names a model and the settings of its evaluation; its hash commits to them. A value
drawn at random afterwards decides, together with the hash, the instances and noise of the run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.differences import find_differences

SCHEMA = 1
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Format of the draw's time, in UTC."""
ANNOUNCED = (
    *("model", "model_identity", "suite", "suite_version", "suite_hash", "samples", "seed"),
    *("temperature", "top_p", "max_tokens", "response_format", "history", "constrained"),
    *("pictures", "prompt_hash", "envs"),
)
"""Announced fields of run.json: everything except the draw that decides the responses."""
_SHOWN_LATER = "calls_read_as"
"""Field of an identity that is recorded once a server's answers have calls."""
_NUMBERS = ("temperature", "top_p")


@dataclass(frozen=True)
class Draw:
    """A random draw of 64 hex digits for an announced run, with its time in UTC.

    A maintainer's rerun has no announcement, and the commitment of its entry; other draws have the
    hash of the announcement.
    """

    announcement: JsonObject | None
    commitment: str
    value: str
    time: str

    def of_run(self) -> JsonObject:
        """Return the field `draw` of run.json."""
        return {"commitment": self.commitment, "value": self.value}

    def as_json(self) -> JsonObject:
        """Return the content of the draw file."""
        return {"schema": SCHEMA, **vars(self)}


def build_announcement(config: JsonObject) -> JsonObject:
    """Return the announcement of a run from its run.json, with or without a draw."""
    announced = _announced(config)
    # The commitment hashes the text, so equal numbers must be written alike.
    numbers = {name: float(announced[name]) for name in _NUMBERS if name in announced}
    return {"schema": SCHEMA, **announced, **numbers}


def compute_commitment(announcement: JsonObject) -> str:
    """Return the SHA-256 hex digest of an announcement's JSON: sorted keys, no spaces, ASCII."""
    text = json.dumps(announcement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def find_unannounced(draw: Draw, config: JsonObject) -> list[str]:
    """Return the differences between the content of a run.json and the announcement of its draw.

    Without `model_identity` in the content, the identity is not compared.
    """
    if draw.announcement is None:
        return []
    there = {name: draw.announcement[name] for name in ANNOUNCED if name in draw.announcement}
    if "model_identity" not in config:
        there.pop("model_identity", None)
    return find_differences(there, _announced(config))


def without_shown_later(config: JsonObject) -> JsonObject:
    """Return a run.json without what only the answers show of the model's server."""
    if identity := config.get("model_identity"):
        known = {name: value for name, value in identity.items() if name != _SHOWN_LATER}
        return {**config, "model_identity": known}
    return config


def _announced(config: JsonObject) -> JsonObject:
    config = without_shown_later(config)
    return {name: config[name] for name in ANNOUNCED if name in config}
