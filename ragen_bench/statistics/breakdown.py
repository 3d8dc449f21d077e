"""Success by the difficulty of instances, and by the turns that it took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ragen_bench.statistics.estimates import Estimate, mean_estimate

if TYPE_CHECKING:
    from ragen_bench.runs.schema import EpisodeRecord

_MOST_BUCKETS = 6
_FIFTHS = 5


class Bucket(NamedTuple):
    """Instances of about the same difficulty.

    Attributes:
        label: the lengths or ceilings in it, such as "3" or "4-6".
        instances: how many.
        episodes: how many, on all of them.
        success: the share of episodes that were solved.
    """

    label: str
    instances: int
    episodes: int
    success: Estimate


class WithinTurns(NamedTuple):
    """What was solved within the first turns.

    Attributes:
        turns: so many.
        success: the share of all episodes that were solved in at most so many turns.
    """

    turns: int
    success: Estimate


def by_difficulty(
    episodes: Iterable[EpisodeRecord], measure: Literal["optimal_length", "ceiling"]
) -> list[Bucket]:
    """Return success by the difficulty of instances, in at most six buckets.

    Lengths get a bucket each, or, if there are more than six, neighbours share buckets of about
    equally many instances. Ceilings fall into fifths of [0, 1]; a fifth holds its upper end. The
    buckets depend on the instances alone, so that two models on the same ones have the same.

    Args:
        episodes: of one environment, as episodes.jsonl holds them.
        measure: "optimal_length", moves of a shortest solution, or "ceiling", the best player's
            expected score.

    Returns:
        The buckets that hold instances, in the order of the measure; empty where the environment
        does not know it. An episode without it is left out.
    """
    known = [(getattr(episode, measure), episode) for episode in episodes]
    known = [(difficulty, episode) for difficulty, episode in known if difficulty is not None]
    difficulties = {episode.index: difficulty for difficulty, episode in known}
    number_of = _fifth if measure == "ceiling" else _neighbours(list(difficulties.values()))
    members: dict[int, list[tuple[Any, EpisodeRecord]]] = {}
    for difficulty, episode in known:
        members.setdefault(number_of(difficulty), []).append((difficulty, episode))
    buckets = []
    for number, inside in sorted(members.items()):
        clusters = _successes(episode for _, episode in inside)
        held = [difficulty for difficulty, _ in inside]
        label = _fifth_label(number) if measure == "ceiling" else _span_label(held)
        buckets.append(Bucket(label, len(clusters), len(inside), mean_estimate(clusters)))
    return buckets


def by_turns(episodes: Sequence[EpisodeRecord]) -> list[WithinTurns]:
    """Return success within the first 1, 2, ... turns, up to the longest episode's.

    It is what the same answers would have scored under a harder limit; a player that was told of
    such a limit might have played otherwise.

    Args:
        episodes: of one environment, as episodes.jsonl holds them.
    """
    longest = max((len(episode.turns) for episode in episodes), default=0)
    return [
        WithinTurns(turns, mean_estimate(_successes(episodes, turns)))
        for turns in range(1, longest + 1)
    ]


def _successes(episodes: Iterable[EpisodeRecord], turns: float = float("inf")) -> list[list[float]]:
    """Return 1 or 0 for each episode, by instance: was it solved within so many turns?"""
    clusters: dict[int, list[float]] = {}
    for episode in episodes:
        solved = bool(episode.success) and len(episode.turns) <= turns
        clusters.setdefault(episode.index, []).append(float(solved))
    return list(clusters.values())


def _neighbours(lengths: Sequence[int]) -> Callable[[int], int]:
    """Return what numbers the buckets of lengths, given one length for each instance."""
    distinct = sorted(set(lengths))
    if len(distinct) <= _MOST_BUCKETS:
        return distinct.index
    shorter = {length: sum(other < length for other in lengths) for length in distinct}
    return lambda length: _MOST_BUCKETS * shorter[length] // len(lengths)


def _span_label(lengths: Sequence[int]) -> str:
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low}-{high}"


def _fifth(ceiling: float) -> int:
    return max(ceil(_FIFTHS * ceiling), 1) - 1


def _fifth_label(number: int) -> str:
    return f"{number / _FIFTHS:.1f}-{(number + 1) / _FIFTHS:.1f}"
