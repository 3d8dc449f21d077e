"""Announcements, and the draws that answer them.

An announcement says which model will be evaluated, and how. Its hash commits to it. A value that is
drawn at random afterwards decides, together with that hash, the instances and the noise of the run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ragen_bench.runs.resume_check import differences
from ragen_bench.runs.schema import Object

SCHEMA = 1
"""The version of both files."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How the time of a draw is written, in UTC."""
ANNOUNCED = (
    *("model", "model_identity", "suite", "suite_version", "suite_hash", "samples", "seed"),
    *("temperature", "top_p", "max_tokens", "response_format", "history", "constrained"),
    *("pictures", "prompt_hash", "envs"),
)
"""What of run.json is announced: all that decides the answers, but for the draw."""
_NUMBERS = ("temperature", "top_p")


@dataclass(frozen=True)
class Draw:
    """A draw.

    Attributes:
        announcement: what was announced, None where a maintainer draws for a rerun.
        commitment: the announcement's hash; of a rerun, that of the entry.
        value: what was drawn, 64 hex digits.
        time: when, in UTC, as 2026-11-23T22:23:51Z.
    """

    announcement: Object | None
    commitment: str
    value: str
    time: str

    def of_run(self) -> Object:
        """Return what run.json says of it."""
        return {"commitment": self.commitment, "value": self.value}

    def as_json(self) -> Object:
        """Return the content of its file."""
        return {"schema": SCHEMA, **vars(self)}


def announcement_of(config: Object) -> Object:
    """Return what a run announces.

    Args:
        config: the content of run.json, with or without a draw.
    """
    announced = {name: config[name] for name in ANNOUNCED if name in config}
    # Equal numbers are written alike, as the hash is of the text.
    numbers = {name: float(announced[name]) for name in _NUMBERS if name in announced}
    return {"schema": SCHEMA, **announced, **numbers}


def commitment_of(announcement: Object) -> str:
    """Return the 64 hex digits that commit to an announcement: SHA-256 of its canonical JSON.

    That has sorted keys, no spaces, and ASCII alone.
    """
    text = json.dumps(announcement, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def unannounced(draw: Draw, config: Object) -> list[str]:
    """Return where the settings of a run differ from what was announced for its draw.

    Args:
        draw: of the run.
        config: the content of run.json; without the model's identity, that is not compared.
    """
    if draw.announcement is None:
        return []
    there = {name: draw.announcement[name] for name in ANNOUNCED if name in draw.announcement}
    if "model_identity" not in config:
        there.pop("model_identity", None)
    here = {name: config[name] for name in ANNOUNCED if name in config}
    return differences(there, here)
