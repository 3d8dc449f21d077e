"""Computes a run's summary: metrics, baselines and the suite score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from ragen_bench.environments import reply_counts
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.random_player import RandomPlayer, find_random_player
from ragen_bench.people import count_people, is_human
from ragen_bench.reading import count_line_ends
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.faults import count_causes
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.runs.schema import ChosenEnv, EpisodeRecord, Key, RunConfig
from ragen_bench.scores.baselines import compute_baseline, is_close_to_blind
from ragen_bench.scores.cost import Prices, compute_cost
from ragen_bench.scores.drops import compute_drops
from ragen_bench.scores.efficiency import EfficiencyMeter, SolvedEpisode, compute_efficiency
from ragen_bench.scores.metrics import (
    compute_metrics,
    compute_opponent_metrics,
    drop_texts,
    estimate_of,
    round_interval,
    round_value,
)
from ragen_bench.statistics import mean_of
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, open_key
from ragen_envs.registration import find_reference


def summarise(run: RunDirectory, prices: Prices | None = None) -> JsonObject:
    """Return the content of summary.json, for a run with at least one episode.

    Everything except `seconds` and `cost` is a function of the run's configuration and episodes.
    The random player, the blind script and the oracle are run on the same instances, with their own
    seed. A UserError
    is raised if the key of a sealed split is missing, or the run names a random player that the
    user did not name.
    """
    faults = {fault.key: fault.reason for fault in run.faults()}
    return compute_summary(run.config, run.episodes(), run.seconds(), faults, prices)


def read_summary(run: RunDirectory) -> JsonObject | None:
    """Read summary.json; None if it is missing or older than the last episode."""
    file, episodes = run.path / "summary.json", run.episodes_file
    recorded = count_line_ends(episodes)
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
    faults: Mapping[Key, str] = MappingProxyType({}),
    prices: Prices | None = None,
) -> JsonObject:
    """Return the content of summary.json; see `summarise`.

    The episodes, at least one, are read as a stream; `seconds` are their durations by environment,
    and `faults` the latest reasons of those that failed at a server at least once.
    """
    if config.split == "sealed" and (key := open_key()) != config.sealed_key_hash:
        raise UserError(
            f"the run used the sealed key with the hash {config.sealed_key_hash}, the current one "
            f"has {key}; name the run's key in {KEY_FILE_VARIABLE}"
        )
    random_player = find_random_player(config.random_player) if config.random_player else None
    if random_player and random_player.identity != config.random_player_identity:
        raise UserError(
            f"the module of {random_player.name}, the run's random player, has changed since the "
            "run began; restore it, or evaluate again with another --out"
        )
    episodes: dict[str, list[EpisodeRecord]] = {env.id: [] for env in config.envs}
    solved: dict[str, list[SolvedEpisode]] = {env.id: [] for env in config.envs}
    meter = EfficiencyMeter(config)
    unplayed = dict(faults)
    for episode in recorded:
        if measured := meter.measure(episode):
            solved[episode.env].append(measured)
        episodes[episode.env].append(drop_texts(episode))
        unplayed.pop(episode.key, None)
    reasons = {
        env: [reason for key, reason in unplayed.items() if key[0] == env]
        + [episode.error for episode in played if episode.outcome == "given_up"]
        for env, played in episodes.items()
    }
    rows = [
        {
            **_row(env, episodes[env.id], config, random_player),
            **({"given_up": causes} if (causes := count_causes(reasons[env.id])) else {}),
            **_later_fields(
                efficiency=compute_efficiency(episodes[env.id], solved[env.id]),
                drops=compute_drops(
                    episodes[env.id],
                    _by_instance(env.id, unplayed),
                    len(env.played) * config.samples,
                ),
            ),
            "seconds": round(seconds.get(env.id, 0.0), 2),
        }
        for env in config.envs
        if episodes[env.id]
    ]
    # Environments have equal weights; without one of them the suite has no score.
    scaled = [estimate_of(row, "normalised") for row in rows if row["normalised"] is not None]
    players = (episode.player for played in episodes.values() for episode in played)
    people = count_people(players) if is_human(config.model) else 0
    mean = mean_of(scaled, dependent=people > 1) if len(scaled) == len(config.envs) else None
    causes = count_causes(reason for listed in reasons.values() for reason in listed)
    return {
        "model": config.model,
        **({"people": people} if people else {}),
        **({"opponent": config.opponent.model} if config.opponent else {}),
        "suite": config.suite,
        "split": config.split,
        "episodes": sum(row["episodes"] for row in rows),
        "planned": config.planned,
        "infra_faults": len(unplayed),
        **({"given_up": causes} if causes else {}),
        "suite_score": mean and round_value(mean.value),
        "suite_score_interval": mean and round_interval(mean.interval),
        "cost": prices and _cost(config, rows, prices),
        "envs": rows,
    }


LATER_FIELDS = ("efficiency", "drops")
"""Fields of an environment that summaries of earlier versions lack; left out where empty."""


def _later_fields(**fields: JsonObject) -> JsonObject:
    return {name: fields[name] for name in LATER_FIELDS if fields[name]}


def _by_instance(env: str, unplayed: Mapping[Key, str]) -> dict[int, list[str]]:
    """Return the reasons of an environment's unplayed episodes by instance."""
    reasons: dict[int, list[str]] = {}
    for (of, _, index, _), reason in unplayed.items():
        if of == env:
            reasons.setdefault(index, []).append(reason)
    return reasons


def _row(
    env: ChosenEnv,
    episodes: list[EpisodeRecord],
    config: RunConfig,
    random_player: RandomPlayer | None,
) -> JsonObject:
    """Return an environment's metrics with those of the baselines."""
    row = {"env": env.id, **compute_metrics(episodes)}
    if counts := reply_counts(env.id):
        row["opponent"] = compute_opponent_metrics(episodes, counts)
    where = env.id, config.split, env.played
    row["random"] = compute_baseline("random", *where, random_player, config.draw_key)
    row["oracle"] = compute_baseline("oracle", *where, draw=config.draw_key)
    if blind := compute_baseline("blind", *where, draw=config.draw_key):
        row["blind"] = blind
    scaled = None
    if row["random"] and row["oracle"] and row["score"] is not None:
        score, floor, ceiling = estimate_of(row, "score"), row["random"], row["oracle"]
        scaled = score.normalise(floor["score"], ceiling["ceiling"])
    row["normalised"] = scaled and round_value(scaled.value)
    row["normalised_interval"] = scaled and round_interval(scaled.interval)
    if why := find_reference(env.id):
        row["reference"] = why
    return row


def find_close_to_blind(summary: JsonObject) -> list[str]:
    """Return the environments whose success is not above a blind one, see `is_close_to_blind`."""
    return [
        row["env"]
        for row in summary["envs"]
        if "blind" in row
        and row["success"] is not None
        and is_close_to_blind(
            row["success_interval"][0], row["blind"]["success"], row["random"]["success"]
        )
    ]


def _cost(config: RunConfig, rows: list[JsonObject], prices: Prices) -> JsonObject | None:
    """Return the cost of the recorded turns, None if a price is unknown."""
    spent = [(config.model, rows)]
    if config.opponent:
        spent.append((config.opponent.model, [row["opponent"] for row in rows]))
    total = 0.0
    for model, turns in spent:
        prompt = sum(row["prompt_tokens"] for row in turns)
        completion = sum(row["completion_tokens"] for row in turns)
        cost = compute_cost(model, prompt, completion, prices)
        if cost is None:
            return None
        total += cost
    solved = sum(row["efficiency"]["solved"] for row in rows if "efficiency" in row)
    per_solved = {"per_solved": round_value(total / solved)} if solved and total else {}
    return {"amount": round_value(total), "currency": prices.currency, **per_solved}
