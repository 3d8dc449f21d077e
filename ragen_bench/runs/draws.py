"""Announcements of runs, and the random draws that answer them.

An announcement names a model and the settings of its evaluation; its hash commits to them. A value
drawn at random afterwards decides, together with the hash, the instances and noise of the run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ragen_bench.json_types import Json, JsonObject
from ragen_bench.runs.differences import find_differences
from ragen_bench.suites import SUITES

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
DEFAULTS: JsonObject = {"top_p": 1.0, "pictures": False}
"""Values that an announcement leaves out."""
_EXACT = 1 << 53
"""Bound of the floats that are written as integers without loss."""


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
    """Return the announcement of a run in canonical form, from its run.json or an announcement.

    The commitment hashes the text, so equal runs must be written alike: defaults are left out,
    equal numbers have one spelling, and environments are in the order of their suite, else of ids.
    """
    announced = _announced(config)
    # Adding 0 turns -0.0 into 0.0.
    announced |= {name: float(announced[name]) + 0.0 for name in _NUMBERS if name in announced}
    if "model_identity" in announced:
        announced["model_identity"] = _write_numbers_alike(announced["model_identity"])
    if "envs" in announced:
        suite = SUITES.get(announced.get("suite", ""))
        order = {env: place for place, env in enumerate(suite.instances if suite else ())}
        announced["envs"] = sorted(
            announced["envs"], key=lambda env: (order.get(env["id"], len(order)), env["id"])
        )
    kept = {name: value for name, value in announced.items() if value != DEFAULTS.get(name, ...)}
    return {"schema": SCHEMA, **kept}


def _write_numbers_alike(value: Json) -> Json:
    """Return a JSON value with whole floats as integers."""
    if isinstance(value, dict):
        return {name: _write_numbers_alike(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_write_numbers_alike(item) for item in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
    return int(value) if is_whole else value  # type: ignore[arg-type]  # is_whole says it is a float


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
    there = build_announcement(draw.announcement)
    if "model_identity" not in config:
        there.pop("model_identity", None)
    return find_differences(there, build_announcement(config))


def without_shown_later(config: JsonObject) -> JsonObject:
    """Return a run.json without what only the answers show of the model's server."""
    if identity := config.get("model_identity"):
        known = {name: value for name, value in identity.items() if name != _SHOWN_LATER}
        return {**config, "model_identity": known}
    return config


def _announced(config: JsonObject) -> JsonObject:
    config = without_shown_later(config)
    return {name: config[name] for name in ANNOUNCED if name in config}
