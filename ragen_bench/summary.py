"""From a run's episodes to its figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models import Model, Sampling
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.records import Record, RunDirectory, key_of
from ragen_bench.runner import play, tasks_of
from ragen_bench.statistics import clustered_bootstrap, normalised, wilson
from ragen_envs.instances import Split
from ragen_envs.sealed import KEY_FILE_VARIABLE, open_key

_BASELINE_FIGURES = ("episodes", "success", "success_interval", "score", "ceiling")
BASELINE_SAMPLES = 16
"""Episodes on each instance for floor and ceiling."""


def summarise(run: RunDirectory) -> Record:
    """Return the content of summary.json.

    Everything but `seconds` is a function of the run's configuration and episodes. The random
    and the oracle player play anew, on the run's own instances, with a seed of their own.

    Raises:
        UserError: if the run is of a sealed split and its key is not at hand.
    """
    config = run.config
    _need_key_of(config)
    episodes: dict[str, list[Record]] = {env["id"]: [] for env in config["envs"]}
    played = set()
    for episode in run.episodes():
        episodes[episode["env"]].append(episode)
        played.add(key_of(episode))
    seconds = run.seconds()
    rows = []
    for env in config["envs"]:
        name = env["id"]
        if not episodes[name]:
            continue
        row = figures(episodes[name])
        row["env"] = name
        row["seconds"] = round(seconds.get(name, 0.0), 2)
        row["random"] = baseline("random", name, config["split"], env["instances"])
        row["oracle"] = baseline("oracle", name, config["split"], env["instances"])
        floor, ceiling = row["random"]["score"], row["oracle"]["ceiling"]
        row["normalised"] = _rounded(normalised(row["score"], floor, ceiling))
        rows.append(row)
    scores = [row["normalised"] for row in rows if row["normalised"] is not None]
    return {
        "model": config["model"],
        "suite": config["suite"],
        "split": config["split"],
        "episodes": sum(row["episodes"] for row in rows),
        "planned": sum(env["instances"] for env in config["envs"]) * config["samples"],
        "infra_faults": len({key for key, _ in run.faults()} - played),
        "suite_score": _rounded(sum(scores) / len(scores)) if scores else None,
        "envs": rows,
    }


def figures(episodes: list[Record]) -> Record:
    """Return the figures of one environment's episodes."""
    turns = [turn for episode in episodes for turn in episode["turns"]]
    return {
        "episodes": len(episodes),
        "success": _mean(episode["success"] for episode in episodes),
        "success_interval": [_rounded(bound) for bound in _interval(episodes)],
        "score": _mean(episode["score"] for episode in episodes),
        "return": _mean(episode["return"] for episode in episodes),
        "outcomes": _counts(episode["outcome"] for episode in episodes),
        "turns": len(turns),
        "format_valid": _mean(turn["format_is_valid"] for turn in turns),
        "action_valid": _mean(turn["action_is_valid"] for turn in turns),
        "answer_is_example": _mean(turn["answer_is_example"] for turn in turns),
        "prompt_tokens": sum(turn["prompt_tokens"] for turn in turns),
        "completion_tokens": sum(turn["completion_tokens"] for turn in turns),
    }


def baseline(model: str, env: str, split: Split, instances: int) -> Record:
    """Return the figures of `random` or `oracle` on the first instances of a split.

    Its `ceiling` is the best player's expected score, which the environments know exactly; what
    the oracle scored here is one sample of it.
    """
    player: Model = RandomModel() if model == "random" else OracleModel()
    sampling = Sampling(temperature=1.0, max_tokens=0, stop="", seed=0)
    tasks = tasks_of({env: instances}, split, BASELINE_SAMPLES)
    played = play(tasks, player, sampling, "plain")
    episodes = [one.record for one in played if one.record is not None]
    found = figures(episodes)
    found["ceiling"] = _mean(episode["ceiling"] for episode in episodes)
    return {name: found[name] for name in _BASELINE_FIGURES}


def _need_key_of(config: Record) -> None:
    """Refuse to set a sealed run beside players of other instances."""
    if config["split"] != "sealed":
        return
    held, wanted = open_key(), config["sealed_key_hash"]
    if held != wanted:
        raise UserError(
            f"the run is of the sealed key with the hash {wanted}, the key at hand has {held}; "
            f"name the run's key in {KEY_FILE_VARIABLE}"
        )


def _interval(episodes: list[Record]) -> tuple[float, float]:
    """Return Wilson's interval for one sample an instance, else the clustered bootstrap's.

    Where every episode ended alike, resampling them finds no spread at all: an interval of width 0
    would claim certainty. There it is Wilson's, with one trial for each instance, as the samples of
    one instance may be no more than copies of each other.
    """
    clusters: dict[int, list[float]] = {}
    for episode in episodes:
        clusters.setdefault(episode["index"], []).append(float(episode["success"]))
    successes = sum(episode["success"] for episode in episodes)
    if len(clusters) == len(episodes):
        return wilson(successes, len(episodes))
    if successes in (0, len(episodes)):
        return wilson(len(clusters) if successes else 0, len(clusters))
    return clustered_bootstrap(list(clusters.values()))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 6)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _counts(values: Iterable[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
