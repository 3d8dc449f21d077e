"""The figures of one environment's episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from ragen_bench.runs.schema import EpisodeRecord, Object, Reply, ReplyCounts
from ragen_bench.statistics import (
    Estimate,
    Interval,
    by_difficulty,
    by_turns,
    clustered_bootstrap,
    mean_at_k,
    mean_estimate,
    over_instances,
    pass_at_k,
    pass_hat_k,
)
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.two_player import ReplyCount

_NO_TEXTS: dict[str, Any] = dict.fromkeys(("observation", "answer", "reasoning"), "")


def light(episode: EpisodeRecord) -> EpisodeRecord:
    """Return an episode without its texts, of which no figure here depends: they fill memories."""
    turns = [
        replace(turn, **_NO_TEXTS, opponent=_light_reply(turn.opponent)) for turn in episode.turns
    ]
    return replace(episode, turns=turns, final_observation="")


def _light_reply(reply: Reply | None) -> Reply | None:
    return reply and reply.model_copy(update=_NO_TEXTS)


def opponent_figures(episodes: Sequence[EpisodeRecord], counts: Sequence[ReplyCount]) -> Object:
    """Return the figures of the opponent's replies, rounded to six digits.

    They are the sums of the game's counts, and the shares that it names, with their intervals over
    instances: both are None where there is nothing to have a share of.

    Args:
        episodes: as `episodes.jsonl` holds them, or `light`; of an environment with an opponent.
        counts: what the game counts.
    """
    replies = [turn.opponent for episode in episodes for turn in episode.turns if turn.opponent]
    counted = [(episode, episode.opponent) for episode in episodes if episode.opponent]
    figures: Object = {"replies": len(replies)}
    for count in counts:
        figures[count.name] = sum(replies_of[count.name] for _, replies_of in counted)
    for count in counts:
        if count.share is not None:
            share = _share(counted, count)
            figures[count.share] = share and rounded(share.value)
            figures[f"{count.share}_interval"] = share and rounded_interval(share.interval)
    return {
        **figures,
        "cut": _mean(reply.finish == "length" for reply in replies),
        "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.completion_tokens for reply in replies),
    }


def _share(
    counted: Iterable[tuple[EpisodeRecord, ReplyCounts]], count: ReplyCount
) -> Estimate | None:
    """Return the share of one count of an opponent's replies in another, over instances.

    Without another it is the share in all replies.
    """
    clusters: dict[int, list[float]] = {}
    for episode, counts in counted:
        whole = counts[count.part_of] if count.part_of else _replies(episode)
        values = [1.0] * counts[count.name] + [0.0] * (whole - counts[count.name])
        clusters.setdefault(episode.index, []).extend(values)
    known = [values for values in clusters.values() if values]
    return mean_estimate(known) if known else None


def _replies(episode: EpisodeRecord) -> int:
    return sum(turn.opponent is not None for turn in episode.turns)


def figures(episodes: Sequence[EpisodeRecord]) -> Object:
    """Return the figures of one environment's episodes, rounded to six digits.

    Shares lie in [0, 1]. Intervals are of 95 %, see `ragen_bench.statistics`. Shares of turns are
    None where no episode had one. Where another package's environment tells success or score of
    some episodes, the others count 0; where of none, the figure is None, and without success the
    return has an interval.

    Args:
        episodes: as `episodes.jsonl` holds them, or `light`; at least one.
    """
    turns = [turn for episode in episodes for turn in episode.turns]
    tells_success = any(episode.success is not None for episode in episodes)
    return {
        "episodes": len(episodes),
        **_estimated(episodes, "success"),
        **_estimated(episodes, "score"),
        "return": _mean(episode.episode_return for episode in episodes),
        **(_repeats(episodes) if tells_success else _return_interval(episodes)),
        "outcomes": _counts(episode.outcome for episode in episodes),
        "by_difficulty": _by_difficulty(episodes) if tells_success else [],
        "by_turn": [rounded(within.success.value) for within in by_turns(episodes)]
        if tells_success
        else [],
        "turns": len(turns),
        "format_valid": _mean(turn.format_is_valid for turn in turns),
        "action_valid": _mean(turn.action_is_valid for turn in turns),
        "answer_is_example": _mean(turn.answer_is_example for turn in turns),
        "cut": _mean(turn.finish == "length" for turn in turns),
        "prompt_tokens": sum(turn.prompt_tokens for turn in turns),
        "completion_tokens": sum(turn.completion_tokens for turn in turns),
    }


def estimate_of(figures: Object, name: str) -> Estimate:
    """Return a figure and its interval as an estimate."""
    low, high = figures[f"{name}_interval"]
    return Estimate(figures[name], (low, high))


def rounded(value: float) -> float:
    """Return a figure with six digits behind the point."""
    return round(value, 6)


def rounded_interval(interval: Interval) -> list[float]:
    """Return an interval's bounds with six digits behind the point."""
    return [rounded(bound) for bound in interval]


def _clusters(episodes: Iterable[EpisodeRecord], name: str) -> list[list[float]]:
    """Return a figure of the episodes, by instance."""
    clusters: dict[int, list[float]] = {}
    for episode in episodes:
        clusters.setdefault(episode.index, []).append(float(getattr(episode, name) or 0))
    return list(clusters.values())


def _estimated(episodes: Sequence[EpisodeRecord], name: Literal["success", "score"]) -> Object:
    """Return a figure and its interval, None where no episode has it."""
    if all(getattr(episode, name) is None for episode in episodes):
        return {name: None, f"{name}_interval": None}
    estimate = mean_estimate(_clusters(episodes, name))
    return {
        name: rounded(estimate.value),
        f"{name}_interval": rounded_interval(estimate.interval),
    }


def _return_interval(episodes: Sequence[EpisodeRecord]) -> Object:
    interval = clustered_bootstrap(_clusters(episodes, "episode_return"))
    return {"return_interval": rounded_interval(interval)}


def _repeats(episodes: Sequence[EpisodeRecord]) -> Object:
    """Return mean@k, for k episodes of every instance, and pass@k and pass^k for 1, 2, 4 ... k."""
    counts = [
        (len(cluster), int(sum_in_order(cluster))) for cluster in _clusters(episodes, "success")
    ]
    fewest = min(scored for scored, _ in counts)
    ks = [1 << power for power in range(fewest.bit_length())]
    means = [mean_at_k(cluster, fewest) for cluster in _clusters(episodes, "success")]
    mean = over_instances(means)
    repeats: Object = {"mean_at_k": {str(fewest): mean and rounded(mean.value)}}
    for name, share in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k)):
        estimates = {k: _over(counts, share, k) for k in ks}
        repeats[name] = {str(k): rounded(estimate.value) for k, estimate in estimates.items()}
        repeats[f"{name}_interval"] = {
            str(k): rounded_interval(estimate.interval) for k, estimate in estimates.items()
        }
    return repeats


def _over(
    counts: Iterable[tuple[int, int]], share: Callable[[int, int, int], float | None], k: int
) -> Estimate:
    estimate = over_instances([share(scored, solved, k) for scored, solved in counts])
    if estimate is None:
        raise ValueError(f"an instance has fewer than {k} episodes")
    return estimate


def _by_difficulty(episodes: Sequence[EpisodeRecord]) -> list[Object]:
    """Return success by optimal length, or by ceiling where that is what differs."""
    lengths = all(episode.optimal_length is not None for episode in episodes)
    ceilings = {episode.ceiling for episode in episodes}
    if not lengths and (len(ceilings) == 1 or None in ceilings):
        return []
    measure: Literal["ceiling", "optimal_length"]
    measure = "ceiling" if len(ceilings) > 1 and None not in ceilings else "optimal_length"
    return [
        {
            "by": measure,
            "bucket": bucket.label,
            "instances": bucket.instances,
            "episodes": bucket.episodes,
            "success": rounded(bucket.success.value),
            "interval": rounded_interval(bucket.success.interval),
        }
        for bucket in by_difficulty(episodes, measure)
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values, None where there is none."""
    listed = [value for value in values if value is not None]
    return rounded(sum_in_order(listed) / len(listed)) if listed else None


def _counts(values: Iterable[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
