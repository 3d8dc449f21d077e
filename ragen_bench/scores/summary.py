"""Computes a run's summary: metrics, baselines and the suite score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.random_player import RandomPlayer, find_random_player
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.runs.schema import EpisodeRecord, Indices, Key, RunConfig
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.scores.cost import Prices, compute_cost
from ragen_bench.scores.metrics import (
    compute_metrics,
    compute_opponent_metrics,
    drop_texts,
    estimate_of,
    round_interval,
    round_value,
)
from ragen_bench.statistics import mean_of
from ragen_bench.two_player import reply_counts
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, open_key
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import find_reference


def summarise(run: RunDirectory, prices: Prices | None = None) -> JsonObject:
    """Return the content of summary.json.

    Everything except `seconds` and `cost` is a function of the run's configuration and episodes.
    The random and the oracle player are run on the same instances, with their own seed.

    Args:
        run: Run with at least one episode.
        prices: Prices of tokens.

    Raises:
        UserError: if the key of a sealed split is missing, or the run names a random player that
            the user did not name.
    """
    faults = {fault.key for fault in run.faults()}
    return compute_summary(run.config, run.episodes(), run.seconds(), faults, prices)


def read_summary(run: RunDirectory) -> JsonObject | None:
    """Read summary.json; None if it is missing or older than the last episode.

    Raises:
        UserError: if it is not a JSON object.
    """
    file, episodes = run.path / "summary.json", run.episodes_file
    recorded = episodes.read_bytes().count(b"\n") if episodes.is_file() else 0
    summary = read_whole(file) if file.is_file() else {}
    return summary if summary.get("episodes") == recorded else None


FOREIGN_SUMMARY_ERRORS = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Exceptions of reading a summary.json that the harness did not write."""


def bad_summary_error(path: Path) -> UserError:
    """Return the error for a summary.json that the harness did not write."""
    file, command = path / "summary.json", f"ragen-bench report {path}"
    return UserError(f"{file} is not a summary; `{command}` writes it again", exit_code=1)


def compute_summary(
    config: RunConfig,
    recorded: Iterable[EpisodeRecord],
    seconds: Mapping[str, float],
    faults: Set[Key] = frozenset(),
    prices: Prices | None = None,
) -> JsonObject:
    """Return the content of summary.json.

    Args:
        config: Content of run.json.
        recorded: Episodes, at least one; read as a stream.
        seconds: Duration of the episodes by environment.
        faults: Keys of the episodes that failed at a server at least once.
        prices: Prices of tokens.

    Raises:
        UserError: as `summarise`.
    """
    _check_key(config)
    random_player = _find_random_player(config)
    episodes: dict[str, list[EpisodeRecord]] = {env.id: [] for env in config.envs}
    finished = set()
    for episode in recorded:
        episodes[episode.env].append(drop_texts(episode))
        finished.add(episode.key)
    rows = [
        {
            **_row(env.id, episodes[env.id], config, env.played, random_player),
            "seconds": round(seconds.get(env.id, 0.0), 2),
        }
        for env in config.envs
        if episodes[env.id]
    ]
    return {
        "model": config.model,
        **({"opponent": config.opponent.model} if config.opponent else {}),
        "suite": config.suite,
        "split": config.split,
        "episodes": sum(row["episodes"] for row in rows),
        "planned": config.planned,
        "infra_faults": len(faults - finished),
        **_suite(rows, len(config.envs)),
        "cost": _cost(config, rows, prices),
        "envs": rows,
    }


def _row(
    env: str,
    episodes: list[EpisodeRecord],
    config: RunConfig,
    indices: Indices,
    random_player: RandomPlayer | None,
) -> JsonObject:
    """Return an environment's metrics with those of the random and the oracle player."""
    row = {"env": env, **compute_metrics(episodes)}
    if counts := reply_counts(env):
        row["opponent"] = compute_opponent_metrics(episodes, counts)
    split, draw = config.split, config.draw_key
    row["random"] = compute_baseline("random", env, split, indices, random_player, draw)
    row["oracle"] = compute_baseline("oracle", env, split, indices, draw=draw)
    scaled = None
    if row["random"] and row["oracle"] and row["score"] is not None:
        score, floor, ceiling = estimate_of(row, "score"), row["random"], row["oracle"]
        scaled = score.normalised(floor["score"], ceiling["ceiling"])
    row["normalised"] = scaled and round_value(scaled.value)
    row["normalised_interval"] = scaled and round_interval(scaled.interval)
    if why := find_reference(env):
        row["reference"] = why
    return row


def _suite(rows: list[JsonObject], planned: int) -> JsonObject:
    """Return the mean of the normalised scores over environments, with equal weights.

    It is None if a planned environment is missing.
    """
    scaled = [estimate_of(row, "normalised") for row in rows if row["normalised"] is not None]
    mean = mean_of(scaled) if len(scaled) == planned else None
    return {
        "suite_score": mean and round_value(mean.value),
        "suite_score_interval": mean and round_interval(mean.interval),
    }


def _cost(config: RunConfig, rows: list[JsonObject], prices: Prices | None) -> JsonObject | None:
    """Return the cost of the recorded turns, None if a price is unknown."""
    if prices is None:
        return None
    spent = [compute_cost(config.model, *_tokens(rows), prices)]
    if config.opponent:
        tokens = _tokens([row["opponent"] for row in rows])
        spent.append(compute_cost(config.opponent.model, *tokens, prices))
    known = [part.amount for part in spent if part]
    if len(known) < len(spent):
        return None
    return {"amount": round_value(sum_in_order(known)), "currency": prices.currency}


def _tokens(rows: list[JsonObject]) -> tuple[int, int]:
    read = sum(row["prompt_tokens"] for row in rows)
    return read, sum(row["completion_tokens"] for row in rows)


def _find_random_player(config: RunConfig) -> RandomPlayer | None:
    """Return the random player of a run, which the user must have named."""
    if not config.random_player:
        return None
    player = find_random_player(config.random_player)
    if player.identity != config.random_player_identity:
        raise UserError(
            f"the module of {player.name}, the run's random player, has changed since the run "
            "began; restore it, or evaluate again with another --out"
        )
    return player


def _check_key(config: RunConfig) -> None:
    """Check that the baselines would use the same sealed instances as the run."""
    if config.split != "sealed":
        return
    key, expected = open_key(), config.sealed_key_hash
    if key != expected:
        raise UserError(
            f"the run used the sealed key with the hash {expected}, the current one has {key}; "
            f"name the run's key in {KEY_FILE_VARIABLE}"
        )
