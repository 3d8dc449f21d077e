"""The peers as subjects of the kit, each with all that can honestly be told of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from ragen_envs.testing import Subject
from tests.ragen_envs.peers import players
from tests.ragen_envs.peers.gem_text import GemText
from tests.ragen_envs.peers.gymnasium_text import GymnasiumText, SeedsFrom, shown
from tests.ragen_envs.peers.textarena_text import TextArenaText

SEEDS = (0, 1, 2, 8)
"""Played by the kit. gem's level of seed 8 cannot be solved in its turns."""
QUICK_SEEDS = (2, 8)
"""For TextArena's Sokoban: these levels take it 15 and 35 ms, others up to 190."""
SPLIT_SEEDS = 32
"""Instances in each of the ranges of seeds that stand for train and test."""
TEST_FROM = 10_000
"""The first seed of the range that stands for test."""
_LAKE = ("left", "down", "right", "up")
_CLIFF = ("up", "right", "down", "left")
_TAXI = ("south", "north", "east", "west", "pickup", "dropoff")
_SPACES = ("observation_space", "action_space")
_WORDS = ("hostile_text",)


def _subject(make: Callable[[], gymnasium.Env], **told: Any) -> Subject:
    if "canonical" in told:
        told["splits"] = {"train": make, "test": partial(SeedsFrom, make, TEST_FROM)}
    told = {"seeds": SEEDS, "split_seeds": SPLIT_SEEDS, **told}
    return Subject(make_env=make, **told)


def _gymnasium(id_: str, words: tuple[str, ...], **told: Any) -> Subject:
    """Leave out what asks for words that are the adapter's, not the environment's."""
    options = told.pop("options", {"render_mode": "ansi"})
    return _subject(partial(GymnasiumText, id_, words, **options), skip=_WORDS, **told)


def _planned(id_: str, words: tuple[str, ...], horizon: int, **told: Any) -> Subject:
    planner = players.Planner(id_, horizon)
    return _gymnasium(id_, words, oracle=planner.answer, ceiling=planner.ceiling, **told)


def _state(env: gymnasium.Env) -> int:
    return int(env.unwrapped.s)


def _map_and_state(env: gymnasium.Env) -> tuple[bytes, int]:
    return env.unwrapped.desc.tobytes(), int(env.unwrapped.s)


def _asked(form: str) -> tuple[str, ...]:
    return tuple(form.format(move) for move in players.MOVES)


def _in_form(form: str, move: Callable[[gymnasium.Env], str]) -> Callable[[gymnasium.Env], str]:
    return lambda env: form.format(move(env))


def _textarena(id_: str, turns: int, instance: Any, move: Any, **told: Any) -> Subject:
    return _subject(
        partial(TextArenaText, id_),
        answers=_asked("[{}]"),
        canonical=instance,
        oracle=_in_form("[{}]", move),
        ceiling=1.0,
        max_turns=turns,
        skip=_SPACES,
        **told,
    )


def _bridged(id_: str, turns: int, **told: Any) -> Subject:
    """Tell nothing of levels and budgets, which a bridge leaves as they are."""
    return Subject(
        make_env=f"ragen_envs.textarena:ragen_textarena/{id_}",
        answers=_asked("[{}]"),
        max_turns=turns,
        **{"seeds": SEEDS, **told},
    )


PEERS: dict[str, Callable[[], Subject]] = {
    "Gymnasium FrozenLake-v1": lambda: _planned(
        "FrozenLake-v1",
        _LAKE,
        100,
        canonical=_map_and_state,
        stochastic=True,
        oracle_episodes=100,
    ),
    "Gymnasium FrozenLake-v1, random map": lambda: _gymnasium(
        "FrozenLake-v1",
        _LAKE,
        canonical=_map_and_state,
        stochastic=True,
        options={"render_mode": "ansi", "map_name": None},
    ),
    "Gymnasium Taxi-v4": lambda: _planned(
        "Taxi-v4",
        _TAXI,
        50,
        canonical=_state,
        options={"render_mode": "ansi", "max_episode_steps": 50},
    ),
    "Gymnasium CliffWalking-v1": lambda: _planned(
        "CliffWalking-v1", _CLIFF, 100, canonical=_state, seeds=(0, 1)
    ),
    "Gymnasium Blackjack-v1": lambda: _gymnasium(
        "Blackjack-v1", ("stick", "hit"), stochastic=True, options={"read": shown}
    ),
    "TextArena Sokoban-v0": lambda: _textarena(
        "Sokoban-v0", 30, players.sokoban_instance, players.sokoban_move, seeds=QUICK_SEEDS
    ),
    "TextArena FrozenLake-v0": lambda: _textarena(
        "FrozenLake-v0", 100, players.lake_instance, players.lake_move
    ),
    "gem game:Sokoban-v0-easy": lambda: _subject(
        partial(GemText, "game:Sokoban-v0-easy"),
        answers=_asked("\\boxed{{{}}}"),
        canonical=players.sokoban_instance,
        oracle=_in_form("\\boxed{{{}}}", players.sokoban_move),
        ceiling=1.0,
        max_turns=20,
        skip=_SPACES,
    ),
}
"""Name -> the subject, made when it is asked for."""

BRIDGED: dict[str, Callable[[], Subject]] = {
    "TextArena FrozenLake-v0, bridged": lambda: _bridged("FrozenLake-v0", 202),
    "TextArena Sokoban-v0, bridged": lambda: _bridged("Sokoban-v0", 62, seeds=QUICK_SEEDS),
}
"""The same games through `ragen_envs.textarena`: n turns are n + 1 moves, each of which may follow
an invalid answer, and so last up to 2n + 2 answers."""
