"""The counts of an opponent's replies in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragen_bench.two_player import reply_counts
from ragen_envs.core.two_player import ReplyCount


def replies_in_words(env: str, figures: Mapping[str, Any]) -> str:
    """Return what an environment counts of its opponent's replies, in words.

    For instance "40 to questions that the rule understands (75.0 % [70.1 - 79.2] as the rule
    answers, 5 another answer than the rule's), 3 not readable".

    Args:
        env: its full id.
        figures: the counts by name, and those of their shares and intervals that are known.
    """
    counts = reply_counts(env)
    whole = (count for count in counts if count.part_of is None)
    return ", ".join(_with_parts(count, counts, figures) for count in whole)


def _with_parts(
    count: ReplyCount, counts: tuple[ReplyCount, ...], figures: Mapping[str, Any]
) -> str:
    text = f"{figures[count.name]:,} {count.about}"
    parts = [_part(part, figures) for part in counts if part.part_of == count.name]
    return f"{text} ({', '.join(parts)})" if parts and figures[count.name] else text


def _part(part: ReplyCount, figures: Mapping[str, Any]) -> str:
    if part.share is None or figures.get(part.share) is None:
        return f"{figures[part.name]:,} {part.about}"
    low, high = figures[f"{part.share}_interval"]
    share = f"{100 * figures[part.share]:.1f} % [{100 * low:.1f} - {100 * high:.1f}]"
    return f"{share} {part.about}"
