"""Baselines: the scores of the random player and the oracle on instances.

A model's score is normalised between the random player's score and the best player's expected one.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache, partial
from typing import Literal

from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import play
from ragen_bench.json_types import JsonObject
from ragen_bench.models import Model, Sampling
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.opponents.opponent import pair_with_rule
from ragen_bench.runs.schema import EpisodeRecord, Indices
from ragen_bench.scores.metrics import compute_metrics, drop_texts, round_value
from ragen_bench.suites import make_env, plays
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.core.sums import sum_in_order

Player = Literal["random", "oracle"]
_METRICS = ("episodes", "success", "success_interval", "score")
_SAMPLES = 16
"""Episodes per instance."""
_SAMPLING = Sampling(temperature=1.0, max_tokens=0, stop="", seed=0)


def compute_baseline(
    player: Player,
    env: str,
    split: Split,
    indices: Indices,
    random_player: RandomPlayer | None = None,
    draw: str = "",
) -> JsonObject | None:
    """Return the metrics of a player on instances of a split, cached for the process.

    `ceiling` is the best player's expected score, exact or estimated with a reference player, see
    `find_reference`. The oracle's `score` is one sample of it. The result is None for a third-party
    environment without an oracle, or without legal actions for the random player.

    Args:
        player: Scripted player.
        env: Environment id.
        split: Split of the instances.
        indices: Indices of the instances.
        random_player: Random player for third-party environments.
        draw: Key of the drawn split, "" for other splits.
    """
    if not plays(player, env, random_player is not None):
        return None
    # The instances of a sealed split depend on the key.
    key_hash = open_key() if split == "sealed" else ""
    return deepcopy(_baseline(player, env, split, indices, random_player, key_hash, draw))


def compute_floor_and_ceiling(
    env: str, split: Split, indices: Sequence[int], draw: str = ""
) -> tuple[float, float]:
    """Return the random player's mean score and the best player's expected score.

    Args:
        env: Environment id.
        split: Split of the instances.
        indices: Indices of the instances, at least one.
        draw: Key of the drawn split, "" for other splits.
    """
    episodes = _play_episodes(RandomModel(), env, split, indices, draw)
    floor = sum_in_order(episode.score or 0.0 for episode in episodes) / len(episodes)
    return floor, _ceiling(episodes)


@lru_cache(maxsize=256)
def _baseline(  # every argument affects the metrics
    player: Player,
    env: str,
    split: Split,
    indices: Indices,
    random_player: RandomPlayer | None,
    _key_hash: str,
    draw: str,
) -> JsonObject:
    model = RandomModel(random_player) if player == "random" else OracleModel()
    episodes = _play_episodes(model, env, split, indices, draw)
    metrics = compute_metrics(episodes)
    return {
        **{name: metrics[name] for name in _METRICS},
        **({"return": metrics["return"]} if metrics["success"] is None else {}),
        "ceiling": round_value(_ceiling(episodes)),
    }


def _play_episodes(
    model: Model, env: str, split: Split, indices: Sequence[int], draw: str
) -> list[EpisodeRecord]:
    """Return the episodes of a player, which are the same in every process."""
    tasks = [Task(env, split, index, sample) for index in indices for sample in range(_SAMPLES)]
    make = partial(make_env, draw=draw)
    played = play(tasks, pair_with_rule(model, env), _SAMPLING, "plain", make=make)
    return [drop_texts(ended.record) for ended in played if ended.record is not None]


def _ceiling(episodes: Sequence[EpisodeRecord]) -> float:
    return sum_in_order(episode.ceiling or 0.0 for episode in episodes) / len(episodes)
