"""The tables of docs/findings.md, made of what the survey wrote.

    python -m tests.ragen_envs.peers.tables

prints them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from ragen_envs.testing import CHECKS
from tests.ragen_envs.peers.survey import RESULTS

NAMES = {
    "gymnasium": "Gymnasium",
    "textarena": "TextArena",
    "gem": "GEM",
    "reasoning_gym": "reasoning-gym",
    "textworld": "TextWorld",
    "scienceworld": "ScienceWorld",
    "openenv": "OpenEnv",
    "verifiers": "verifiers",
}


def records() -> dict[str, dict[str, Any]]:
    """Return library -> what the survey wrote of it."""
    return {
        library: json.loads((RESULTS / f"{library}.json").read_text(encoding="utf-8"))
        for library in NAMES
        if (RESULTS / f"{library}.json").exists()
    }


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| " + " | ".join("---" for _ in rows[0]) + " |", *lines[1:]])


def by_library() -> str:
    """Return a column for each library: environments run, and how many fail each check."""
    found = records()
    counts = {
        library: Counter(c for e in record["environments"].values() for c in e["failed"])
        for library, record in found.items()
    }
    rows = [["", *(f"{NAMES[n]} {found[n]['version']}" for n in found)]]
    for label, key in (("environments run", "environments"), ("not made here", "cannot_be_made")):
        rows.append([label, *(str(len(record[key]) or "") for record in found.values())])
    for check in CHECKS:
        if any(count[check] for count in counts.values()):
            rows.append([f"`{check}`", *(str(counts[n][check] or "") for n in found)])
    return _table(rows)


def by_environment() -> str:
    """Return a row for each environment: the checks that fail."""
    rows = [["library", "environment", "checks that fail"]]
    for library, record in records().items():
        for name, found in record["environments"].items():
            fails = ", ".join(f"`{check}`" for check in CHECKS if check in found["failed"])
            rows.append([NAMES[library], name, fails])
    return _table(rows)


def not_made() -> str:
    """Return a row for each reason why environments were not made."""
    rows = [["library", "environments", "why"]]
    for library, record in records().items():
        reasons: dict[str, list[str]] = {}
        for name, reason in record["cannot_be_made"].items():
            reasons.setdefault(reason, []).append(name)
        rows += [[NAMES[library], ", ".join(names), why] for why, names in reasons.items()]
    return _table(rows)


if __name__ == "__main__":
    for table in (by_library, not_made, by_environment):
        sys.stdout.write(f"{table()}\n\n")
