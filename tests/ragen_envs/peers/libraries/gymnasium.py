"""Gymnasium's own environments of words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from ragen_envs.testing import Subject
from tests.ragen_envs.peers import players
from tests.ragen_envs.peers.gymnasium_text import GymnasiumText, shown
from tests.ragen_envs.peers.told import subject

PACKAGE = "gymnasium"
_LAKE = ("left", "down", "right", "up")
_CLIFF = ("up", "right", "down", "left")
_TAXI = ("south", "north", "east", "west", "pickup", "dropoff")


def _words(id_: str, words: tuple[str, ...], **told: Any) -> Subject:
    """Leave out what asks for words that are the adapter's, not the environment's."""
    options = told.pop("options", {"render_mode": "ansi"})
    make = partial(GymnasiumText, id_, words, **options)
    return subject(make, skip=("hostile_text",), **told)


def _planned(id_: str, words: tuple[str, ...], horizon: int, **told: Any) -> Subject:
    planner = players.Planner(id_, horizon)
    return _words(id_, words, oracle=planner.answer, ceiling=planner.ceiling, **told)


def _state(env: gymnasium.Env) -> int:
    return int(env.unwrapped.s)


def _map_and_state(env: gymnasium.Env) -> tuple[bytes, int]:
    return env.unwrapped.desc.tobytes(), int(env.unwrapped.s)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "FrozenLake-v1": lambda: _planned(
        "FrozenLake-v1",
        _LAKE,
        100,
        canonical=_map_and_state,
        stochastic=True,
        oracle_episodes=100,
    ),
    "FrozenLake-v1, random map": lambda: _words(
        "FrozenLake-v1",
        _LAKE,
        canonical=_map_and_state,
        stochastic=True,
        options={"render_mode": "ansi", "map_name": None},
    ),
    "Taxi-v4": lambda: _planned(
        "Taxi-v4",
        _TAXI,
        50,
        canonical=_state,
        options={"render_mode": "ansi", "max_episode_steps": 50},
    ),
    "CliffWalking-v1": lambda: _planned(
        "CliffWalking-v1", _CLIFF, 100, canonical=_state, seeds=(0, 1)
    ),
    "Blackjack-v1": lambda: _words(
        "Blackjack-v1", ("stick", "hit"), stochastic=True, options={"read": shown}
    ),
}
