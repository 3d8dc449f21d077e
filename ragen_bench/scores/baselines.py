"""Baselines: what the random player and the oracle score on instances.

The random player's score is the floor, the best player's expected score the ceiling, between
which a model's score is normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache, partial
from typing import Literal

from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import play
from ragen_bench.models import Model, Sampling
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.scripted import OracleModel, RandomModel
from ragen_bench.opponents.opponent import pair_with_rule
from ragen_bench.runs.schema import EpisodeRecord, Indices, Object
from ragen_bench.scores.metrics import figures, light, rounded
from ragen_bench.suites import make_env, plays
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.core.sums import sum_in_order

Player = Literal["random", "oracle"]
_FIGURES = ("episodes", "success", "success_interval", "score")
_SAMPLES = 16
"""Episodes on each instance."""
_SAMPLING = Sampling(temperature=1.0, max_tokens=0, stop="", seed=0)


def baseline(
    player: Player,
    env: str,
    split: Split,
    indices: Indices,
    random_player: RandomPlayer | None = None,
    draw: str = "",
) -> Object | None:
    """Return the figures of a player on instances of a split.

    Its `ceiling` is the best player's expected score, which the environments know exactly, or an
    estimate of a reference player's, see `find_reference`; what the oracle scored here is one
    sample of it. They are played once a process. None where another package's environment has no
    oracle, or lists no actions for the random player.

    Args:
        player: who plays.
        env: the environment's id.
        split: where the instances come from.
        indices: which instances.
        random_player: who plays for "random" in other packages' environments.
        draw: the key of the drawn split, "" for the others.
    """
    if not plays(player, env, random_player is not None):
        return None
    # A sealed split has other instances with another key.
    key_hash = open_key() if split == "sealed" else ""
    return deepcopy(_baseline(player, env, split, indices, random_player, key_hash, draw))


def floor_and_ceiling(
    env: str, split: Split, indices: Sequence[int], draw: str = ""
) -> tuple[float, float]:
    """Return the random player's mean score and the best player's expected one on instances.

    Args:
        env: the environment's id.
        split: where the instances come from.
        indices: which ones, at least one.
        draw: the key of the drawn split, "" for the others.
    """
    episodes = _played(RandomModel(), env, split, indices, draw)
    floor = sum_in_order(episode.score or 0.0 for episode in episodes) / len(episodes)
    return floor, _ceiling(episodes)


@lru_cache(maxsize=256)
def _baseline(  # what the figures depend on
    player: Player,
    env: str,
    split: Split,
    indices: Indices,
    random_player: RandomPlayer | None,
    _key_hash: str,
    draw: str,
) -> Object:
    model = RandomModel(random_player) if player == "random" else OracleModel()
    episodes = _played(model, env, split, indices, draw)
    of_player = figures(episodes)
    return {
        **{name: of_player[name] for name in _FIGURES},
        **({"return": of_player["return"]} if of_player["success"] is None else {}),
        "ceiling": rounded(_ceiling(episodes)),
    }


def _played(
    model: Model, env: str, split: Split, indices: Sequence[int], draw: str
) -> list[EpisodeRecord]:
    """Return the episodes of a player: always the same ones on an instance."""
    tasks = [Task(env, split, index, sample) for index in indices for sample in range(_SAMPLES)]
    make = partial(make_env, draw=draw)
    played = play(tasks, pair_with_rule(model, env), _SAMPLING, "plain", make=make)
    return [light(ended.record) for ended in played if ended.record is not None]


def _ceiling(episodes: Sequence[EpisodeRecord]) -> float:
    return sum_in_order(episode.ceiling or 0.0 for episode in episodes) / len(episodes)
