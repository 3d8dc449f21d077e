"""Episodes that end in an error: they are restarted, and finally dropped with their group."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ragen_bench.errors import UserError
from ragen_starpo.rollout.trajectory import TokenTrajectory

LOG = logging.getLogger("ragen_starpo.rollout")


@dataclass(frozen=True)
class FailedEpisode:
    """An episode that ended in an error each time it was played.

    `error` has the type and first line of the latest one. A restart does not fix a user's
    `mistake`.
    """

    error: str
    mistake: bool = False
    exit_code: int = 2


Ended: TypeAlias = TokenTrajectory | FailedEpisode


def raise_mistakes(ended: Iterable[Ended]) -> None:
    """Raise UserError for the first episode that met a user's mistake."""
    for episode in ended:
        if isinstance(episode, FailedEpisode) and episode.mistake:
            raise UserError(episode.error, episode.exit_code)


def first_error(ended: Iterable[Ended]) -> str | None:
    """Return the error of the first episode that failed; None if all succeeded."""
    return next((episode.error for episode in ended if isinstance(episode, FailedEpisode)), None)


def complete_groups(
    ended: Sequence[Ended], groups: Sequence[Hashable]
) -> dict[int, TokenTrajectory]:
    """Return the trajectories of groups without a failed episode, by their places.

    Returns are compared within a group, so an incomplete one is dropped. UserError if an
    episode met a user's mistake, or no group is left.
    """
    raise_mistakes(ended)
    error = first_error(ended)
    broken = {
        group
        for episode, group in zip(ended, groups, strict=True)
        if isinstance(episode, FailedEpisode)
    }
    if error is not None and broken == set(groups):
        raise UserError(
            "each group of rollouts had an episode that ended in an error, as in "
            f"{error}; fix it, and run the same command to continue",
            exit_code=1,
        )
    return {
        place: episode
        for place, (episode, group) in enumerate(zip(ended, groups, strict=True))
        if isinstance(episode, TokenTrajectory) and group not in broken
    }
