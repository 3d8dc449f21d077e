"""Success by the difficulty of instances, and by the number of turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

from ragen_bench.statistics.estimates import Estimate, mean_estimate

if TYPE_CHECKING:
    from ragen_bench.runs.schema import EpisodeRecord

_MAX_BUCKETS = 6
_FIFTHS = 5


class Bucket(NamedTuple):
    """Instances of similar difficulty.

    Attributes:
        label: Range of the measure, such as "3" or "4-6".
        instances: Number of instances.
        episodes: Number of episodes on all of them.
        success: Success rate.
    """

    label: str
    instances: int
    episodes: int
    success: Estimate


def success_by_difficulty(
    episodes: Iterable[EpisodeRecord], measure: Literal["optimal_length", "ceiling"]
) -> list[Bucket]:
    """Return success by the difficulty of instances, in at most six buckets.

    Each length is a bucket. If there are more than six lengths, neighbours share buckets of about
    equally many instances. Optimal scores fall into fifths of [0, 1]; a fifth includes its upper
    end. The buckets depend only on the instances, so two models on the same ones have the same.

    Args:
        episodes: Episodes of one environment.
        measure: "optimal_length", moves of a shortest solution, or "ceiling", the best player's
            expected score.

    Returns:
        The non-empty buckets, in the order of the measure. Episodes without it are skipped.
    """
    known = [(getattr(episode, measure), episode) for episode in episodes]
    known = [(difficulty, episode) for difficulty, episode in known if difficulty is not None]
    difficulties = {episode.index: difficulty for difficulty, episode in known}
    lengths = list(difficulties.values())
    distinct = sorted(set(lengths))
    if measure == "ceiling":
        numbers = {value: max(ceil(_FIFTHS * value), 1) - 1 for value in distinct}
    elif len(distinct) <= _MAX_BUCKETS:
        numbers = {length: number for number, length in enumerate(distinct)}
    else:
        shorter = {length: sum(other < length for other in lengths) for length in distinct}
        numbers = {n: _MAX_BUCKETS * count // len(lengths) for n, count in shorter.items()}
    members: dict[int, list[tuple[int, EpisodeRecord]]] = {}
    for difficulty, episode in known:
        members.setdefault(numbers[difficulty], []).append((difficulty, episode))
    buckets = []
    for number, inside in sorted(members.items()):
        clusters = _successes(episode for _, episode in inside)
        if measure == "ceiling":
            label = f"{number / _FIFTHS:.1f}-{(number + 1) / _FIFTHS:.1f}"
        else:
            low, high = (end(length for length, _ in inside) for end in (min, max))
            label = str(low) if low == high else f"{low}-{high}"
        buckets.append(Bucket(label, len(clusters), len(inside), mean_estimate(clusters)))
    return buckets


def success_by_turns(episodes: Sequence[EpisodeRecord]) -> list[Estimate]:
    """Return the success rate within the first 1, 2, ... turns, up to the longest episode's.

    It is the score of the same responses under a lower limit. A player that is given such a limit
    may play differently.

    Args:
        episodes: Episodes of one environment.
    """
    longest = max((len(episode.turns) for episode in episodes), default=0)
    return [mean_estimate(_successes(episodes, turns)) for turns in range(1, longest + 1)]


def _successes(episodes: Iterable[EpisodeRecord], turns: float = float("inf")) -> list[list[float]]:
    """Return 1 or 0 for each episode by instance: solved within `turns` turns."""
    clusters: dict[int, list[float]] = {}
    for episode in episodes:
        solved = bool(episode.success) and len(episode.turns) <= turns
        clusters.setdefault(episode.index, []).append(float(solved))
    return list(clusters.values())
