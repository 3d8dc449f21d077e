"""Episodes that end in an error: played again, and in the end left out with their group."""

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
    """An episode that ended in an error as often as it was played.

    Attributes:
        error: the type of the latest error, and its first line.
        mistake: whether it is a user's, which no other try mends.
        exit_code: of a user's mistake, see `UserError`.
    """

    error: str
    mistake: bool = False
    exit_code: int = 2


Ended: TypeAlias = TokenTrajectory | FailedEpisode


def refuse_mistakes(ended: Iterable[Ended]) -> None:
    """Check that no episode met a user's mistake.

    Raises:
        UserError: the first one, as the episode raised it.
    """
    for episode in ended:
        if isinstance(episode, FailedEpisode) and episode.mistake:
            raise UserError(episode.error, episode.exit_code)


def first_error(ended: Iterable[Ended]) -> str | None:
    """Return the error of the first episode that failed, None if all ended well."""
    return next((episode.error for episode in ended if isinstance(episode, FailedEpisode)), None)


def whole_groups(ended: Sequence[Ended], groups: Sequence[Hashable]) -> dict[int, TokenTrajectory]:
    """Return the trajectories of the groups all of whose episodes ended well, by their places.

    Returns are compared within a group, so one that lacks an episode is left out.

    Args:
        ended: the episodes.
        groups: the group of each.

    Raises:
        UserError: if an episode met a user's mistake, or no group is left.
    """
    refuse_mistakes(ended)
    error = first_error(ended)
    broken = {
        group
        for episode, group in zip(ended, groups, strict=True)
        if isinstance(episode, FailedEpisode)
    }
    if error is not None and broken == set(groups):
        raise UserError(
            "each group of rollouts had an episode that ended in an error, as in "
            f"{error}; mend that, and the same command goes on",
            exit_code=1,
        )
    return {
        place: episode
        for place, (episode, group) in enumerate(zip(ended, groups, strict=True))
        if isinstance(episode, TokenTrajectory) and group not in broken
    }
