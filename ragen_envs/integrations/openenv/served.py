"""What a server serves: an environment's id with its splits, checked before anybody connects."""

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
"""What is served of a game of this suite unless splits are named; the sealed one has to be."""
ENDLESS = 1 << 53
"""The number of tasks that is told of a split without an end; JSON readers hold ints up to it."""


@dataclass(frozen=True)
class Served:
    """An environment, its splits, and how many instances each has.

    Attributes:
        env: an id of Gymnasium's registry, or MODULE:ID to import the module that registers it.
        response_format: the form of the answers.
        sizes: the splits that are served, with the number of instances; the first is the default.
        options: further arguments of the environment.
        about: what it is, in a few words.
        ours: whether it is a game of this suite, which takes a turn in well under a millisecond.
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
        """Begin an episode of each split, which also loads what the games read from files.

        Args:
            env: as the attribute.
            splits: those to serve, the default first; none for train, val and test of a game of
                this suite, and for what another environment has without an argument.
            response_format: as the attribute.
            options: as the attribute.

        Raises:
            ValueError: for an id, a split or an option that leads to no environment, one that is
                not a text environment, or a sealed split without its key.
        """
        options = dict(options or {})
        first = _begun(env, splits[0] if splits else "train", response_format, options)
        inner = first.env.unwrapped
        ours = isinstance(inner, TextEnv)
        wanted = tuple(dict.fromkeys(splits)) or (OPEN_SPLITS if ours else ("train",))
        sizes: dict[Split, int] = {}
        for split in wanted:
            episode = first if split == wanted[0] else _begun(env, split, response_format, options)
            sizes[split] = episode.instances or ENDLESS
            episode.close()
        return cls(env, response_format, sizes, options, _about(inner), ours)

    @property
    def name(self) -> str:
        """The environment's name in paths, see `served_name`."""
        return served_name(self.env)

    @property
    def default(self) -> Split:
        """The split of a reset that names none."""
        return next(iter(self.sizes))


def served_name(env: str) -> str:
    """Return an id as OpenEnv names environments: "ragen/Sokoban-v0" is "ragen_sokoban_v0"."""
    return re.sub(r"[^a-z0-9]+", "_", env.rpartition(":")[2].lower()).strip("_")


def _begun(
    env: str, split: Split, response_format: ResponseFormat, options: Mapping[str, Any]
) -> Episode:
    episode = Episode(env, split, response_format, **options)
    episode.reset(0)
    return episode


def _about(env: Any) -> str:
    """Return the first line of an environment's documentation."""
    return (type(env).__doc__ or type(env).__name__).strip().partition("\n")[0]
