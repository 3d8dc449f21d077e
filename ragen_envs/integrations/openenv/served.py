"""The environment and the splits that a server offers, checked before clients connect."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode

OPEN_SPLITS: tuple[Split, ...] = ("train", "val", "test")
"""Default splits of a game of this suite; the sealed one must be named."""
ENDLESS = 1 << 53
"""Reported size of an infinite split, the largest exact integer of JSON readers."""


class RefusedError(ValueError):
    """The client's request is invalid."""


class FailedError(RuntimeError):
    """The environment raised an error, whose text is hidden from the client."""


@dataclass(frozen=True)
class Served:
    """An environment, its splits, and how many instances each has.

    Attributes:
        env: Id in Gymnasium's registry, or MODULE:ID to import the module that registers it.
        response_format: Format of the responses.
        sizes: Number of instances of each served split; the first split is the default.
        options: Extra arguments of the environment.
        about: Short description.
        ours: True for a game of this suite, whose turns take well under a millisecond.
    """

    env: str
    response_format: ResponseFormat
    sizes: Mapping[Split, int]
    options: Mapping[str, Any]
    about: str
    ours: bool

    @classmethod
    def of(
        cls,
        env: str,
        splits: Sequence[Split] = (),
        response_format: ResponseFormat = "think",
        options: Mapping[str, Any] | None = None,
    ) -> Served:
        """Start an episode of each split, which also loads the game's data files.

        Args:
            env: Id of the environment.
            splits: Splits to serve, the default first. By default train, val and test of a game of
                this suite, and train of a third-party environment.
            response_format: Format of the responses.
            options: Extra arguments of the environment.

        Raises:
            ValueError: The environment cannot be made, is not a text environment, or a sealed
                split lacks its key.
        """
        options = dict(options or {})
        first = _start_episode(env, splits[0] if splits else "train", response_format, options)
        inner = first.env.unwrapped
        ours = isinstance(inner, TextEnv)
        chosen = tuple(dict.fromkeys(splits)) or (OPEN_SPLITS if ours else ("train",))
        sizes: dict[Split, int] = {}
        for split in chosen:
            is_first = split == chosen[0]
            episode = first if is_first else _start_episode(env, split, response_format, options)
            sizes[split] = episode.instances or ENDLESS
            episode.close()
        return cls(env, response_format, sizes, options, _about(inner), ours)

    @property
    def name(self) -> str:
        """Name of the environment in paths, see `served_name`."""
        return served_name(self.env)

    @property
    def default(self) -> Split:
        """Split of a reset without a split."""
        return next(iter(self.sizes))


def served_name(env: str) -> str:
    """Return an id in OpenEnv's naming: "ragen/Sokoban-v0" is "ragen_sokoban_v0"."""
    return re.sub(r"[^a-z0-9]+", "_", env.rpartition(":")[2].lower()).strip("_")


def _start_episode(
    env: str, split: Split, response_format: ResponseFormat, options: Mapping[str, Any]
) -> Episode:
    episode = Episode(env, split, response_format, **options)
    episode.reset(0)
    return episode


def _about(env: Any) -> str:
    """Return the first line of an environment's documentation."""
    return (type(env).__doc__ or type(env).__name__).strip().partition("\n")[0]
