"""Causes of given-up episodes, read from the recorded reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ragen_bench.people import SKIPPED

_CAUSES = (
    (re.compile(r"\bHTTP (\d{3})\b"), "HTTP {}"),
    (re.compile("no answer within"), "time-out"),
    (re.compile(f"^{SKIPPED}$"), "skipped"),
    (re.compile("the server (?:sent|packed)|the stream"), "unreadable reply"),
    (re.compile(r"\w*(?:Connect|Network|Read|Write|Protocol|Transport|OS)\w*Error"), "connection"),
)
_ADDRESS = re.compile(r"https?://\S+")
LONGEST_REASON = 400


def find_cause(reason: str) -> str:
    """Return the cause of a fault in a word or two, "other" if its reason names none."""
    for pattern, cause in _CAUSES:
        if match := pattern.search(reason):
            return cause.format(*match.groups())
    return "other"


def count_causes(reasons: Iterable[str]) -> dict[str, int]:
    """Return the number of faults by cause, the most frequent first."""
    counts = Counter(map(find_cause, reasons))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def describe_causes(causes: Mapping[str, int]) -> str:
    """Return the numbers of faults by cause in words."""
    return ", ".join(f"{count} {cause}" for cause, count in causes.items())


def to_recorded_reason(reason: str) -> str:
    """Return a reason for an episode's record: short, and without the server's address."""
    text = _ADDRESS.sub("the server", reason).encode("utf-8", "replace").decode()
    return text[:LONGEST_REASON] or "no reason was given"
