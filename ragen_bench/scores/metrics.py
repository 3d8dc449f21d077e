"""Computes the metrics of one environment's episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.schema import EpisodeRecord, ReplyCounts
from ragen_bench.statistics import (
    Estimate,
    Interval,
    clustered_bootstrap,
    mean,
    mean_at_k,
    mean_estimate,
    mean_over_instances,
    pass_at_k,
    pass_hat_k,
    success_by_difficulty,
    success_by_turns,
    widen,
)
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.two_player import ReplyCount

if TYPE_CHECKING:
    from ragen_bench.scores.outcomes import PlayedOutcome

Outcome: TypeAlias = "EpisodeRecord | PlayedOutcome"
_NO_TEXTS = dict.fromkeys(("observation", "answer", "reasoning"), "")


def drop_texts(episode: EpisodeRecord) -> EpisodeRecord:
    """Return an episode without its texts, which no metric needs, to save memory."""
    turns = [
        replace(
            turn,
            observation="",
            answer="",
            reasoning="",
            opponent=turn.opponent and turn.opponent.model_copy(update=_NO_TEXTS),
        )
        for turn in episode.turns
    ]
    return replace(episode, turns=turns, final_observation="")


def compute_opponent_metrics(
    episodes: Sequence[EpisodeRecord], counts: Sequence[ReplyCount]
) -> JsonObject:
    """Return the metrics of the opponent's replies, rounded to six digits.

    They are the sums of the game's counts, and its rates with their intervals over instances. A
    rate is None where its denominator is 0. The episodes may be from `drop_texts`.
    """
    replies = [turn.opponent for episode in episodes for turn in episode.turns if turn.opponent]
    with_counts = [(episode, episode.opponent) for episode in episodes if episode.opponent]
    metrics: JsonObject = {"replies": len(replies)}
    for count in counts:
        metrics[count.name] = sum(replies_of[count.name] for _, replies_of in with_counts)
    for count in counts:
        if count.share is not None:
            rate = _rate(with_counts, count)
            metrics[count.share] = rate and round_value(rate.value)
            metrics[f"{count.share}_interval"] = rate and round_interval(rate.interval)
    return {
        **metrics,
        "cut": mean_of_known(reply.finish == "length" for reply in replies),
        "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.completion_tokens for reply in replies),
    }


def _rate(
    episodes: Iterable[tuple[EpisodeRecord, ReplyCounts]], count: ReplyCount
) -> Estimate | None:
    """Return the rate of a count over instances, relative to `part_of` or to all replies."""
    clusters: dict[int, list[float]] = {}
    for episode, counts in episodes:
        replies = sum(turn.opponent is not None for turn in episode.turns)
        whole = counts[count.part_of] if count.part_of else replies
        values = [1.0] * counts[count.name] + [0.0] * (whole - counts[count.name])
        clusters.setdefault(episode.index, []).extend(values)
    known = [values for values in clusters.values() if values]
    return mean_estimate(known) if known else None


def compute_metrics(episodes: Sequence[EpisodeRecord]) -> JsonObject:
    """Return the metrics of one environment's episodes, at least one, rounded to six digits.

    Rates are in [0, 1], and intervals have a level of 95 %, see `ragen_bench.statistics`. Without
    turns, their rates are None. Episodes without a success or score count as 0 where others have
    one. A metric that no episode has is left None; without success, the return has an interval.
    Intervals of success, score and return of several people contain that over people too. The
    episodes may be from `drop_texts`.
    """
    turns = [turn for episode in episodes for turn in episode.turns]
    has_success = any(episode.success is not None for episode in episodes)
    return {
        "episodes": len(episodes),
        **estimate_metric(episodes, "success", group_by_person(episodes, "success")),
        **estimate_metric(episodes, "score", group_by_person(episodes, "score")),
        "return": mean_of_known(episode.episode_return for episode in episodes),
        **(
            _repeats(episodes)
            if has_success
            else {"return_interval": round_interval(_interval_of_returns(episodes))}
        ),
        "outcomes": dict(sorted(Counter(episode.outcome for episode in episodes).items())),
        "by_difficulty": _by_difficulty(episodes) if has_success else [],
        "by_turn": [round_value(estimate.value) for estimate in success_by_turns(episodes)]
        if has_success
        else [],
        "turns": len(turns),
        "format_valid": mean_of_known(turn.format_is_valid for turn in turns),
        "action_valid": mean_of_known(turn.action_is_valid for turn in turns),
        "answer_is_example": mean_of_known(turn.answer_is_example for turn in turns),
        "cut": mean_of_known(turn.finish == "length" for turn in turns),
        "prompt_tokens": sum(turn.prompt_tokens for turn in turns),
        "completion_tokens": sum(turn.completion_tokens for turn in turns),
    }


def estimate_of(metrics: JsonObject, name: str) -> Estimate:
    """Return a metric and its interval as an estimate."""
    low, high = metrics[f"{name}_interval"]
    return Estimate(metrics[name], (low, high))


def round_value(value: float) -> float:
    """Return a value rounded to six digits."""
    return round(value, 6)


def round_interval(interval: Interval) -> list[float]:
    """Return an interval's bounds rounded to six digits."""
    return [round_value(bound) for bound in interval]


def group_by_instance(episodes: Iterable[Outcome], name: str) -> list[list[float]]:
    """Return a metric by instance; an episode without it counts 0."""
    clusters: dict[int, list[float]] = {}
    for episode in episodes:
        clusters.setdefault(episode.index, []).append(float(getattr(episode, name) or 0))
    return list(clusters.values())


def group_by_person(episodes: Iterable[EpisodeRecord], name: str) -> list[list[float]]:
    """Return a metric by person, all of a model's together; an episode without it counts 0."""
    values: dict[str, list[float]] = {}
    for episode in episodes:
        value = float(getattr(episode, name) or 0)
        values.setdefault(episode.player.casefold(), []).append(value)
    return list(values.values())


def _interval_of_returns(episodes: Sequence[EpisodeRecord]) -> Interval:
    interval = clustered_bootstrap(group_by_instance(episodes, "episode_return"))
    return widen(interval, group_by_person(episodes, "episode_return"), bounds=None)


def estimate_metric(
    episodes: Sequence[Outcome],
    name: Literal["success", "score"],
    by_person: Sequence[Sequence[float]] = (),
) -> JsonObject:
    """Return a metric and its interval, None where no episode has it; see `mean_estimate`."""
    if all(getattr(episode, name) is None for episode in episodes):
        return {name: None, f"{name}_interval": None}
    estimate = mean_estimate(group_by_instance(episodes, name), by_person)
    return {
        name: round_value(estimate.value),
        f"{name}_interval": round_interval(estimate.interval),
    }


def _repeats(episodes: Sequence[EpisodeRecord]) -> JsonObject:
    """Return mean@k for the largest possible k, and pass@k and pass^k for k = 1, 2, 4 ..."""
    counts = [
        (len(cluster), int(sum_in_order(cluster)))
        for cluster in group_by_instance(episodes, "success")
    ]
    fewest = min(scored for scored, _ in counts)
    ks = [1 << power for power in range(fewest.bit_length())]
    means = [mean_at_k(cluster, fewest) for cluster in group_by_instance(episodes, "success")]
    overall = mean_over_instances(means)
    repeats: JsonObject = {"mean_at_k": {str(fewest): overall and round_value(overall.value)}}
    for name, function in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k)):
        estimates = {k: _over(counts, function, k) for k in ks}
        repeats[name] = {str(k): round_value(estimate.value) for k, estimate in estimates.items()}
        repeats[f"{name}_interval"] = {
            str(k): round_interval(estimate.interval) for k, estimate in estimates.items()
        }
    return repeats


def _over(
    counts: Iterable[tuple[int, int]], function: Callable[[int, int, int], float | None], k: int
) -> Estimate:
    estimate = mean_over_instances([function(scored, solved, k) for scored, solved in counts])
    if estimate is None:
        raise ValueError(f"an instance has fewer than {k} episodes")
    return estimate


def _by_difficulty(episodes: Sequence[EpisodeRecord]) -> list[JsonObject]:
    """Return success by the optimal score if it varies, else by the optimal length."""
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
            "success": round_value(bucket.success.value),
            "interval": round_interval(bucket.success.interval),
        }
        for bucket in success_by_difficulty(episodes, measure)
    ]


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None, rounded; None if all are."""
    listed = [value for value in values if value is not None]
    return round_value(mean(listed)) if listed else None
