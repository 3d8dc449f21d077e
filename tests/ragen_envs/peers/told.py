"""What is told of many peers alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import gymnasium

from ragen_envs.integrations import external
from ragen_envs.integrations.external.env import SPLITS
from ragen_envs.testing import Subject
from tests.ragen_envs.peers import players

SEEDS = (0, 1, 2, 8)
"""Played by the kit. gem's Sokoban of seed 8 cannot be solved in its turns."""
SPLIT_SEEDS = 32
"""Instances in each of the ranges of seeds that stand for train and test."""
TEST_FROM = 10_000
"""The first seed of the range that stands for test."""
SPACES = ("observation_space", "action_space")
"""Checks of what peers do not declare."""


class SeedsFrom(gymnasium.Wrapper):
    """An environment whose seeds start at a number: a "split" where a peer has none."""

    def __init__(self, make: Callable[[], gymnasium.Env], first: int) -> None:
        super().__init__(make())
        self.first = first

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        return self.env.reset(seed=None if seed is None else seed + self.first, options=options)


def subject(make: Callable[[], gymnasium.Env], **told: Any) -> Subject:
    """Return a subject, with two ranges of seeds as splits if its instances can be told apart."""
    if "canonical" in told:
        told["splits"] = {"train": make, "test": partial(SeedsFrom, make, TEST_FROM)}
    return Subject(make_env=make, **{"seeds": SEEDS, "split_seeds": SPLIT_SEEDS, **told})


def adapted(id_: str, **told: Any) -> Subject:
    """Return a subject of an id that this package plays by another one, with its own splits."""
    return subject(
        partial(external.make, id_),
        splits={split: partial(external.make, id_, split) for split in SPLITS},
        oracle=lambda env: env.unwrapped.best_actions()[0],
        **{"answers": _legal, "seeds": (0, 1), **told},
    )


def _legal(env: gymnasium.Env, rng: Random) -> str:
    return rng.choice(env.unwrapped.legal_actions or ("look",))


def moves(form: str) -> tuple[str, ...]:
    """Return the four directions in a form."""
    return tuple(form.format(move) for move in players.MOVES)


def in_form(form: str, move: Callable[[gymnasium.Env], str]) -> Callable[[gymnasium.Env], str]:
    """Return a player that gives its moves in a form."""
    return lambda env: form.format(move(env))
