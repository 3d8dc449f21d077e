"""Baselines: the random player, the blind script and the oracle, on the instances of a run.

The episodes of this package's environments on val and test are shipped, see
`scripts/build_baselines.py`; those on other splits are played once and kept in the user's cache.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache, partial
from operator import attrgetter

from ragen_bench.cache import fetch
from ragen_bench.environments import has_noise
from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import play
from ragen_bench.json_types import Json, JsonObject
from ragen_bench.models import Model, Sampling
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.scripted import BlindModel, OracleModel, RandomModel
from ragen_bench.opponents.opponent import pair_with_rule
from ragen_bench.runs.schema import Indices
from ragen_bench.runs.specification import spec_hash
from ragen_bench.scores.metrics import (
    estimate_metric,
    group_by_instance,
    mean_of_known,
    round_value,
)
from ragen_bench.scores.outcomes import SAMPLES, PlayedOutcome, Player, find_shipped, order_by_end
from ragen_bench.suites import make_env, plays
from ragen_bench.visible import write_error
from ragen_envs.core.instances import Split
from ragen_envs.core.sealed import open_key
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import IDS, OPPONENT_IDS

_SAMPLING = Sampling(temperature=1.0, max_tokens=0, stop="", seed=0)
_PATIENCE = 2.0
"""Seconds of playing after which a line says so."""
_values_of = attrgetter(*PlayedOutcome.__slots__)


def compute_baseline(
    player: Player,
    env: str,
    split: Split,
    indices: Indices,
    random_player: RandomPlayer | None = None,
    draw: str = "",
) -> JsonObject | None:
    """Return the metrics of a scripted player on instances of a split.

    `ceiling` is the best player's expected score, exact or estimated with a reference player, see
    `find_reference`. The oracle's `score` is one sample of it. Games without a blind script give
    None, and so do third-party environments without an oracle, or without legal actions for the
    random player, unless it has the given random player. `draw` is the key of the drawn split.
    """
    if not plays(player, env, random_player is not None):
        return None
    # The instances of a sealed split depend on the key.
    key_hash = open_key() if split == "sealed" else ""
    return deepcopy(_baseline(player, env, split, indices, random_player, key_hash, draw))


def is_close_to_blind(lowest: float, blind: float, random: float) -> bool:
    """Return whether a success is not shown to be above that of a player that reads nothing.

    The success of the blind script, or of the random player, is in the interval of the model's with
    the bound `lowest`, or above it. Where actions have other names in each instance, as in Bandit,
    no script does as well as the random player.
    """
    return max(blind, random) >= lowest


def compute_floor_and_ceiling(
    env: str, split: Split, indices: Sequence[int], draw: str = ""
) -> tuple[float, float]:
    """Return the random player's mean score and the best player's expected score."""
    found = _find_outcomes("random", env, split, tuple(indices), None, draw)
    floor = sum_in_order(outcome.score or 0.0 for outcome in found) / len(found)
    return floor, _ceiling(found)


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
    found = _find_outcomes(player, env, split, tuple(indices), random_player, draw)
    scores = [score for scores in group_by_instance(found, "score") for score in scores]
    has_score = any(outcome.score is not None for outcome in found)
    success = estimate_metric(found, "success")
    return {
        "episodes": len(found),
        **success,
        "score": mean_of_known(scores) if has_score else None,
        **(
            {"return": mean_of_known(outcome.episode_return for outcome in found)}
            if success["success"] is None
            else {}
        ),
        "ceiling": round_value(_ceiling(found)),
    }


def _ceiling(outcomes: Sequence[PlayedOutcome]) -> float:
    return sum_in_order(outcome.ceiling or 0.0 for outcome in outcomes) / len(outcomes)


def _find_outcomes(
    player: Player,
    env: str,
    split: Split,
    indices: tuple[int, ...],
    random_player: RandomPlayer | None,
    draw: str,
) -> list[PlayedOutcome]:
    """Return a player's episodes in the order in which they end."""
    if shipped := find_shipped(player, env, split):
        return order_by_end(shipped, indices)

    def compute() -> list[PlayedOutcome]:
        return play_outcomes(player, env, split, indices, random_player, draw)

    # Inspect asks for thousands of single instances, each faster to play than to keep. Which files
    # another package's environment reads is unknown, so a kept result might be of earlier rules.
    if len(indices) == 1 or env not in (*IDS, *OPPONENT_IDS):
        return compute()
    named = random_player
    arguments: Json = {
        "player": player,
        "environment": [env, spec_hash(env, split, "plain")],
        "instances": [split, open_key() if split == "sealed" else "", draw, *indices],
        "random_player": [named.name, {**named.identity}] if named else None,
    }
    found = fetch("baseline", arguments, lambda: [*map(_values_of, compute())])
    return [PlayedOutcome(*values) for values in found]


def play_outcomes(
    player: Player,
    env: str,
    split: Split,
    indices: Sequence[int],
    random_player: RandomPlayer | None = None,
    draw: str = "",
) -> list[PlayedOutcome]:
    """Play a player's episodes, which are the same in every process; report long ones."""
    models: dict[Player, Model] = {
        "random": RandomModel(random_player),
        "blind": BlindModel(),
        "oracle": OracleModel(),
    }
    samples = 1 if player == "oracle" and not has_noise(env) else SAMPLES[player]
    tasks = [Task(env, split, index, sample) for index in indices for sample in range(samples)]
    begin, outcomes, is_reported = time.monotonic(), [], False
    # Scripted players read the environment, so their conversations need no history.
    make = partial(make_env, draw=draw)
    for ended in play(tasks, pair_with_rule(models[player], env), _SAMPLING, "plain", 0, make=make):
        if record := ended.record:
            values = record.success, record.score, record.ceiling, record.episode_return
            outcomes.append(PlayedOutcome(record.index, record.sample, *values, len(record.turns)))
        if not is_reported and time.monotonic() - begin > _PATIENCE:
            is_reported = True
            write_error(f"Playing {len(tasks):,} episodes of {player} in {env}, once ...\n")
    return outcomes
