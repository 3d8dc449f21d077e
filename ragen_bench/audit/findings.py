"""Results of the checks of `doctor`."""

from __future__ import annotations

from typing import Literal, NamedTuple

Status = Literal["ok", "warn", "FAIL"]


class Finding(NamedTuple):
    """Result of one check: "warn" affects scores, "FAIL" breaks a run."""

    name: str
    status: Status
    detail: str
