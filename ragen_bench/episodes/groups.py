"""Groups of episodes: which are still to be played, and which are played again for equal bytes.

Where an answer depends on what else is in flight, episodes are scheduled in groups, and a group of
which an episode is missing is played as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.runner import chunks
from ragen_bench.runs.schema import Key
from ragen_envs.core.wording import counted

_WHY = "so that the bytes are the same"


def missing(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> Iterator[Sequence[Task]]:
    """Yield what is to be played: all at once, or the groups of which an episode is missing.

    Args:
        tasks: all episodes of the run.
        group_size: how many are scheduled together; 1 where answers do not depend on each other.
        recorded: the episodes that are there.
    """
    if group_size == 1:
        yield [task for task in tasks if task.key not in recorded]
        return
    for group in chunks(tasks, group_size):
        if any(task.key not in recorded for task in group):
            yield group


def played_again(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> int:
    """Return how many of the episodes that are there are played again; arguments as `missing`."""
    groups = list(missing(tasks, group_size, recorded))
    return sum(task.key in recorded for group in groups for task in group)


def describe_resumption(recorded: int, again: int) -> str:
    """Return how many episodes are there, and how many of them are played again, in words.

    Args:
        recorded: how many are there.
        again: how many of them are played again.
    """
    there = f"{counted(recorded, 'episode')} {_are(recorded)} there already"
    if not again:
        return there
    return f"{there}; the {again} of the unfinished group {_are(again)} played again, {_WHY}"


def describe_interruption(recorded: int, planned: int, path: Path, again: int) -> str:
    """Return the same of a run that was interrupted.

    Args:
        recorded: how many are there.
        planned: how many there will be.
        path: where they are.
        again: how many of them will be played again.
    """
    kept = f"{recorded} of {planned} episodes are kept in {path}, and the same command goes on"
    if not again:
        return f"{kept} from there"
    return f"{kept}; it plays the {again} of the unfinished group again, {_WHY}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
