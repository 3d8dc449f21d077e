"""From a run's episodes to its summary: figures, floor, ceiling and the suite's score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.models.random_player import RandomPlayer, find_random_player
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.runs.schema import EpisodeRecord, Indices, Key, Object, RunConfig
from ragen_bench.scores.baselines import baseline
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
from ragen_bench.two_player import reply_counts
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, open_key
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import find_reference


def summarise(run: RunDirectory, prices: Prices | None = None) -> Object:
    """Return the content of summary.json.

    Everything but `seconds` and `cost` is a function of the run's configuration and episodes. The
    random and the oracle player play anew, on the run's own instances, with a seed of their own.

    Args:
        run: what is summarised; it has at least one episode.
        prices: what tokens cost.

    Raises:
        UserError: if the run is of a sealed split and its key is not at hand, or names a random
            player that its user did not name.
    """
    faults = {fault.key for fault in run.faults()}
    return summary_of(run.config, run.episodes(), run.seconds(), faults, prices)


def written_summary(run: RunDirectory) -> Object | None:
    """Return the content of summary.json, None where it is missing or episodes came since.

    Raises:
        UserError: if it holds no JSON object.
    """
    file, episodes = run.path / "summary.json", run.episodes_file
    recorded = episodes.read_bytes().count(b"\n") if episodes.is_file() else 0
    written = read_whole(file) if file.is_file() else {}
    return written if written.get("episodes") == recorded else None


NOT_WRITTEN = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What reading a summary.json raises that the harness did not write."""


def no_summary(path: Path) -> UserError:
    """Return what to raise where the summary.json of a run is not one that the harness wrote."""
    file, mend = path / "summary.json", f"ragen-bench report {path}"
    return UserError(f"{file} is not a summary; `{mend}` writes it anew", exit_code=1)


def summary_of(
    config: RunConfig,
    recorded: Iterable[EpisodeRecord],
    seconds: Mapping[str, float],
    faults: Set[Key] = frozenset(),
    prices: Prices | None = None,
) -> Object:
    """Return the content of summary.json from what a run directory holds.

    Args:
        config: the content of run.json.
        recorded: the episodes, at least one; they are taken one by one.
        seconds: what the episodes of each environment took.
        faults: the episodes that a server left unfinished at least once.
        prices: what tokens cost.

    Raises:
        UserError: if the run is of a sealed split and its key is not at hand, or names a random
            player that its user did not name.
    """
    _need_key_of(config)
    random_player = _random_player_of(config)
    episodes: dict[str, list[EpisodeRecord]] = {env.id: [] for env in config.envs}
    played = set()
    for episode in recorded:
        episodes[episode.env].append(light(episode))
        played.add(episode.key)
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
        "infra_faults": len(faults - played),
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
) -> Object:
    """Return an environment's figures beside those of the random and the oracle player."""
    row = {"env": env, **figures(episodes)}
    if counts := reply_counts(env):
        row["opponent"] = opponent_figures(episodes, counts)
    split, draw = config.split, config.draw_key
    row["random"] = baseline("random", env, split, indices, random_player, draw)
    row["oracle"] = baseline("oracle", env, split, indices, draw=draw)
    scaled = None
    if row["random"] and row["oracle"] and row["score"] is not None:
        score, floor, ceiling = estimate_of(row, "score"), row["random"], row["oracle"]
        scaled = score.normalised(floor["score"], ceiling["ceiling"])
    row["normalised"] = scaled and rounded(scaled.value)
    row["normalised_interval"] = scaled and rounded_interval(scaled.interval)
    if why := find_reference(env):
        row["reference"] = why
    return row


def _suite(rows: list[Object], planned: int) -> Object:
    """Return the mean of the normalised scores, in which every environment counts the same.

    Without one of the planned environments it would be the score of another suite: it is None.
    """
    scaled = [estimate_of(row, "normalised") for row in rows if row["normalised"] is not None]
    mean = mean_of(scaled) if len(scaled) == planned else None
    return {
        "suite_score": mean and rounded(mean.value),
        "suite_score_interval": mean and rounded_interval(mean.interval),
    }


def _cost(config: RunConfig, rows: list[Object], prices: Prices | None) -> Object | None:
    """Return what the recorded turns cost, None where a price is not known."""
    if prices is None:
        return None
    spent = [cost(config.model, *_tokens(rows), prices)]
    if config.opponent:
        tokens = _tokens([row["opponent"] for row in rows])
        spent.append(cost(config.opponent.model, *tokens, prices))
    known = [part.amount for part in spent if part]
    if len(known) < len(spent):
        return None
    return {"amount": rounded(sum_in_order(known)), "currency": prices.currency}


def _tokens(rows: list[Object]) -> tuple[int, int]:
    read = sum(row["prompt_tokens"] for row in rows)
    return read, sum(row["completion_tokens"] for row in rows)


def _random_player_of(config: RunConfig) -> RandomPlayer | None:
    """Return the function that a run names as its random player, which its user named too."""
    if not config.random_player:
        return None
    player = find_random_player(config.random_player)
    if player.identity != config.random_player_identity:
        raise UserError(
            f"the module of {player.name}, the run's random player, was another one when the run "
            "began; restore it, or evaluate again with another --out"
        )
    return player


def _need_key_of(config: RunConfig) -> None:
    """Refuse to set a sealed run beside players of other instances."""
    if config.split != "sealed":
        return
    held, wanted = open_key(), config.sealed_key_hash
    if held != wanted:
        raise UserError(
            f"the run is of the sealed key with the hash {wanted}, the key at hand has {held}; "
            f"name the run's key in {KEY_FILE_VARIABLE}"
        )
