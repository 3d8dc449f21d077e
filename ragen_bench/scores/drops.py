"""The manifest of episodes that did not go as planned, by cause, and the scores without them.

Source: Masters, Liu and Albrecht 2026, Rollout cards (arXiv 2605.12131), on drops manifests: scores
are published with the numbers of rollouts that failed, were cut or were left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.faults import count_causes, describe_causes
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores.metrics import group_by_person, round_interval, round_value
from ragen_bench.statistics import mean_estimate

_CAUSES: dict[str, tuple[Callable[[EpisodeRecord], bool], str]] = {
    "context_overflow": (
        lambda episode: episode.outcome == "context_overflow",
        "outgrew the context",
    ),
    "cut": (
        lambda episode: any(turn.finish == "length" for turn in episode.turns),
        "cut at the token limit",
    ),
    "invalid_format": (lambda episode: episode.outcome == "invalid_format", "never in form"),
}
"""Causes that lie with the model, in order of precedence: which episodes, and their description."""
_SERVER = {"missing": "missing", "excluded": "excluded", "given_up": "given up and failed"}
"""The other causes, with their descriptions."""


def compute_drops(
    episodes: Sequence[EpisodeRecord], excluded: Mapping[int, Sequence[str]], planned: int
) -> JsonObject:
    """Return the manifest of one environment; empty if all planned episodes went as planned.

    Every episode has one cause. `missing`, `excluded` (a server failed) are in no metric. The
    others are: `given_up` (a server failed, and this counts as a failure), and the causes that lie
    with the model. `without` are the metrics of the episodes that are left, `with_excluded` those
    of all played and excluded ones, the excluded as failures. `excluded` has the reasons of these
    by instance; recorded episodes may be from `drop_texts`.
    """
    reasons = [reason for listed in excluded.values() for reason in listed]
    causes = {id(episode): _find_cause(episode) for episode in episodes}
    given_up = [episode.error for episode in episodes if causes[id(episode)] == "given_up"]
    counts: JsonObject = {
        "missing": planned - len(episodes) - len(reasons),
        "excluded": count_causes(reasons),
        "given_up": count_causes(given_up),
        **{name: sum(cause == name for cause in causes.values()) for name in _CAUSES},
    }
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        return {}
    clean = [episode for episode in episodes if not causes[id(episode)]]
    found: JsonObject = {"planned": planned, **counts}
    if len(clean) < len(episodes):
        found["without"] = _compute_scores(clean, {})
    if reasons:
        found["with_excluded"] = _compute_scores(episodes, excluded)
    return found


def count_drops(drops: JsonObject) -> dict[str, int]:
    """Return the number of episodes by cause."""
    return {
        name: count if isinstance(count := drops[name], int) else sum(count.values())
        for name in (*_SERVER, *_CAUSES)
        if name in drops
    }


def merge_drops(manifests: Sequence[JsonObject]) -> JsonObject:
    """Return the sums of several manifests by cause, without the missing episodes."""
    merged: JsonObject = {}
    for drops in manifests:
        for name in count_drops(drops):
            if isinstance(drops[name], int):
                merged[name] = merged.get(name, 0) + drops[name]
            else:
                merged[name] = dict(Counter(merged.get(name, {})) + Counter(drops[name]))
    merged.pop("missing", None)
    return merged


def describe_drops(drops: JsonObject) -> str:
    """Return the causes of a manifest in words, the server's with their errors."""
    texts = []
    for name, count in count_drops(drops).items():
        about = _CAUSES[name][1] if name in _CAUSES else _SERVER[name]
        errors = "" if isinstance(drops[name], int) else f" ({describe_causes(drops[name])})"
        texts.append(f"{count} {about}{errors}")
    return ", ".join(texts)


def _find_cause(episode: EpisodeRecord) -> str:
    if episode.outcome == "given_up":
        return "given_up"
    return next((name for name, (applies, _) in _CAUSES.items() if applies(episode)), "")


def _compute_scores(
    episodes: Sequence[EpisodeRecord], excluded: Mapping[int, Sequence[str]]
) -> JsonObject:
    """Return the number of episodes, and their success and score with intervals."""
    found: JsonObject = {"episodes": len(episodes) + sum(map(len, excluded.values()))}
    for name in ("success", "score"):
        clusters: dict[int, list[float]] = {
            index: [0.0] * len(reasons) for index, reasons in excluded.items()
        }
        for episode in episodes:
            value = getattr(episode, name)
            clusters.setdefault(episode.index, []).append(float(value or 0))
        if clusters and any(getattr(episode, name) is not None for episode in episodes):
            people = [] if excluded else group_by_person(episodes, name)
            estimate = mean_estimate(list(clusters.values()), people)
            found[name] = round_value(estimate.value)
            found[f"{name}_interval"] = round_interval(estimate.interval)
    return found
