"""Groups of episodes that are scheduled together.

Where a response depends on the rest of the batch, an incomplete group is played again as a whole,
so that the bytes stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import chunks
from ragen_bench.runs.schema import Key
from ragen_envs.core.wording import pluralize

_WHY = "so that the bytes are the same"


def missing(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> Iterator[Sequence[Task]]:
    """Yield the episodes to play: all missing ones at once, or the incomplete groups.

    Args:
        tasks: All episodes of the run.
        group_size: Episodes per group; 1 where responses do not depend on each other.
        recorded: Keys of the recorded episodes.
    """
    if group_size == 1:
        yield [task for task in tasks if task.key not in recorded]
        return
    for group in chunks(tasks, group_size):
        if any(task.key not in recorded for task in group):
            yield group


def played_again(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> int:
    """Return the number of recorded episodes that are played again; see `missing`."""
    groups = list(missing(tasks, group_size, recorded))
    return sum(task.key in recorded for group in groups for task in group)


def describe_resumption(recorded: int, again: int) -> str:
    """Return the numbers of recorded episodes, and of those played again, in words."""
    there = f"{pluralize(recorded, 'episode')} {_are(recorded)} there already"
    if not again:
        return there
    return f"{there}; the {again} of the unfinished group {_are(again)} played again, {_WHY}"


def describe_interruption(recorded: int, planned: int, path: Path, again: int) -> str:
    """Return the state of an interrupted run in words.

    Args:
        recorded: Number of recorded episodes.
        planned: Number of planned episodes.
        path: Run directory.
        again: Number of recorded episodes that will be played again.
    """
    kept = f"{recorded} of {planned} episodes are kept in {path}, and the same command goes on"
    if not again:
        return f"{kept} from there"
    return f"{kept}; it plays the {again} of the unfinished group again, {_WHY}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
