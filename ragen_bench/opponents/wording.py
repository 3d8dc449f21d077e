"""The counts of an opponent's replies in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragen_bench.two_player import reply_counts
from ragen_envs.core.two_player import ReplyCount


def describe_replies(env: str, counts: Mapping[str, Any]) -> str:
    """Return an environment's counts of its opponent's replies, in words.

    Example: "40 to questions that the rule understands (75.0 % [70.1 - 79.2] as the rule answers, 5
    another answer than the rule's), 3 not readable".

    Args:
        env: Full id of the environment.
        counts: The counts by name, with the rates and intervals that are known.
    """
    kinds = reply_counts(env)
    texts = []
    for kind in kinds:
        if kind.part_of is None:
            parts = [_describe_part(part, counts) for part in kinds if part.part_of == kind.name]
            text = f"{counts[kind.name]:,} {kind.about}"
            texts.append(f"{text} ({', '.join(parts)})" if parts and counts[kind.name] else text)
    return ", ".join(texts)


def _describe_part(part: ReplyCount, counts: Mapping[str, Any]) -> str:
    if part.share is None or counts.get(part.share) is None:
        return f"{counts[part.name]:,} {part.about}"
    low, high = counts[f"{part.share}_interval"]
    rate = f"{100 * counts[part.share]:.1f} % [{100 * low:.1f} - {100 * high:.1f}]"
    return f"{rate} {part.about}"
