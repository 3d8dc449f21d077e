"""Episodes that end in an error: played again, and in the end left out with their group."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
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
    """

    error: str
    mistake: bool = False


Ended: TypeAlias = TokenTrajectory | FailedEpisode


def whole_groups(ended: Sequence[Ended], groups: Sequence[Hashable]) -> dict[int, TokenTrajectory]:
    """Return the trajectories of the groups all of whose episodes ended well, by their places.

    Returns are compared within a group, so one that lacks an episode is left out. A warning tells
    of each failure.

    Args:
        ended: the episodes.
        groups: the group of each.

    Raises:
        UserError: if an episode met a user's mistake, or no group is left.
    """
    failures = [
        (group, one)
        for one, group in zip(ended, groups, strict=True)
        if isinstance(one, FailedEpisode)
    ]
    for group, failed in failures:
        if failed.mistake:
            raise UserError(failed.error)
        LOG.warning("group %s of the rollouts is left out: %s", group, failed.error)
    broken = {group for group, _ in failures}
    if failures and broken == set(groups):
        raise UserError(
            "each group of rollouts had an episode that ended in an error, as in "
            f"{failures[0][1].error}; mend that, and the same command goes on",
            exit_code=1,
        )
    return {
        place: one
        for place, (one, group) in enumerate(zip(ended, groups, strict=True))
        if isinstance(one, TokenTrajectory) and group not in broken
    }
