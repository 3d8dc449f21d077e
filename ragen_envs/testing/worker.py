"""The work of a new process: play recorded episodes and write down what came back."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import IO

import cloudpickle  # type: ignore[import-untyped]

from ragen_envs.testing.episodes import PlayedEpisode
from ragen_envs.testing.play import replay
from ragen_envs.testing.player import Player


def work(job: IO[bytes], result: str) -> None:
    """Read a factory and episodes, play each on a new environment, and write their parts."""
    factory, episodes = cloudpickle.load(job)
    played = []
    for seed, options, answers in episodes:
        with Player(factory) as player:
            played.append(replay(player, PlayedEpisode(seed, options, answers, ())).parts)
    Path(result).write_bytes(pickle.dumps(played))
