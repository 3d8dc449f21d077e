"""From a run's episodes to its summary: figures, floor, ceiling and the suite's score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from copy import deepcopy
from functools import lru_cache

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models import Sampling
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.opponents.opponent import against_rule
from ragen_bench.opponents.two_player import reply_counts
from ragen_bench.runs.directory import Key, Record, RunDirectory, key_of
from ragen_bench.scores.cost import Prices, cost
from ragen_bench.scores.metrics import (
    estimate_of,
    figures,
    light,
    opponent_figures,
    rounded,
    rounded_interval,
)
from ragen_bench.statistics import mean_of
from ragen_envs.instances import Split
from ragen_envs.sealed import KEY_FILE_VARIABLE, open_key

_BASELINE_FIGURES = ("episodes", "success", "success_interval", "score", "ceiling")
BASELINE_SAMPLES = 16
"""Episodes on each instance for floor and ceiling."""


def summarise(run: RunDirectory, prices: Prices | None = None) -> Record:
    """Return the content of summary.json.

    Everything but `seconds` and `cost` is a function of the run's configuration and episodes. The
    random and the oracle player play anew, on the run's own instances, with a seed of their own.

    Args:
        run: what is summarised; it has at least one episode.
        prices: what tokens cost.

    Raises:
        UserError: if the run is of a sealed split and its key is not at hand.
    """
    faults = {key for key, _ in run.faults()}
    return summary_of(run.config, run.episodes(), run.seconds(), faults, prices)


def summary_of(
    config: Record,
    recorded: Iterable[Record],
    seconds: Mapping[str, float],
    faults: Set[Key] = frozenset(),
    prices: Prices | None = None,
) -> Record:
    """Return the content of summary.json from what a run directory holds.

    Args:
        config: the content of run.json.
        recorded: the episodes, at least one; they are taken one by one.
        seconds: what the episodes of each environment took.
        faults: the episodes that a server left unfinished at least once.
        prices: what tokens cost.

    Raises:
        UserError: if the run is of a sealed split and its key is not at hand.
    """
    _need_key_of(config)
    episodes: dict[str, list[Record]] = {env["id"]: [] for env in config["envs"]}
    played = set()
    for episode in recorded:
        episodes[episode["env"]].append(light(episode))
        played.add(key_of(episode))
    rows = [
        {
            **_row(env["id"], episodes[env["id"]], config["split"], env["instances"]),
            "seconds": round(seconds.get(env["id"], 0.0), 2),
        }
        for env in config["envs"]
        if episodes[env["id"]]
    ]
    return {
        "model": config["model"],
        **({"opponent": config["opponent"]["model"]} if "opponent" in config else {}),
        "suite": config["suite"],
        "split": config["split"],
        "episodes": sum(row["episodes"] for row in rows),
        "planned": sum(env["instances"] for env in config["envs"]) * config["samples"],
        "infra_faults": len(faults - played),
        **_suite(rows, len(config["envs"])),
        "cost": _cost(config, rows, prices),
        "envs": rows,
    }


def _row(env: str, episodes: list[Record], split: Split, instances: int) -> Record:
    """Return an environment's figures beside those of the random and the oracle player."""
    row = {"env": env, **figures(episodes)}
    if counts := reply_counts(env):
        row["opponent"] = opponent_figures(episodes, counts)
    row["random"] = baseline("random", env, split, instances)
    row["oracle"] = baseline("oracle", env, split, instances)
    scaled = estimate_of(row, "score").normalised(row["random"]["score"], row["oracle"]["ceiling"])
    row["normalised"] = scaled and rounded(scaled.value)
    row["normalised_interval"] = scaled and rounded_interval(scaled.interval)
    return row


def _suite(rows: list[Record], planned: int) -> Record:
    """Return the mean of the normalised scores, in which every environment counts the same.

    Without one of the planned environments it would be the score of another suite: it is None.
    """
    scaled = [estimate_of(row, "normalised") for row in rows if row["normalised"] is not None]
    mean = mean_of(scaled) if len(scaled) == planned else None
    return {
        "suite_score": mean and rounded(mean.value),
        "suite_score_interval": mean and rounded_interval(mean.interval),
    }


def _cost(config: Record, rows: list[Record], prices: Prices | None) -> Record | None:
    """Return what the recorded turns cost, None where a price is not known."""
    if prices is None:
        return None
    spent = [cost(config["model"], *_tokens(rows), prices)]
    if "opponent" in config:
        tokens = _tokens([row["opponent"] for row in rows])
        spent.append(cost(config["opponent"]["model"], *tokens, prices))
    known = [each.amount for each in spent if each]
    if len(known) < len(spent):
        return None
    return {"amount": rounded(sum(known)), "currency": prices.currency}


def _tokens(rows: list[Record]) -> tuple[int, int]:
    read = sum(row["prompt_tokens"] for row in rows)
    return read, sum(row["completion_tokens"] for row in rows)


def baseline(model: str, env: str, split: Split, instances: int) -> Record:
    """Return the figures of `random` or `oracle` on the first instances of a split.

    Its `ceiling` is the best player's expected score, which the environments know exactly; what
    the oracle scored here is one sample of it. They are played once a process.
    """
    # A sealed split has other instances with another key.
    key_hash = open_key() if split == "sealed" else ""
    return deepcopy(_baseline(model, env, split, instances, key_hash))


@lru_cache(maxsize=256)
def _baseline(model: str, env: str, split: Split, instances: int, key_hash: str) -> Record:
    player = against_rule(RandomModel() if model == "random" else OracleModel(), env)
    sampling = Sampling(temperature=1.0, max_tokens=0, stop="", seed=0)
    tasks = tasks_of({env: instances}, split, BASELINE_SAMPLES)
    played = play(tasks, player, sampling, "plain")
    episodes = [light(one.record) for one in played if one.record is not None]
    found = figures(episodes)
    found["ceiling"] = rounded(sum(each["ceiling"] for each in episodes) / len(episodes))
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
