"""An estimate of how long a study still takes, from the commands that it has run."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean

from ragen_envs.core.sums import sum_in_order
from ragen_starpo.commands import Stage
from ragen_starpo.studies.jobs import Job


class Remaining:
    """Counts the stages that are left, and the seconds that those of the same name took.

    Args:
        jobs: all of the study.
        at_once: how many of them run at a time.
    """

    def __init__(self, jobs: Sequence[Job], at_once: int) -> None:
        self._left = Counter(stage.name for job in jobs for stage in job.stages)
        self._at_once = at_once
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._counting = threading.Lock()

    def done(self, stage: Stage, seconds: float) -> None:
        """Count a stage that is done, in this command or in an earlier one."""
        with self._counting:
            self._left[stage.name] -= 1
            self._seconds[stage.name].append(seconds)

    def drop(self, stages: Sequence[Stage]) -> None:
        """Leave out stages that will not be run."""
        with self._counting:
            self._left.subtract(stage.name for stage in stages)

    def seconds(self) -> float | None:
        """Return the seconds that are left; None until each kind of stage was run once."""
        with self._counting:
            left = {name: count for name, count in self._left.items() if count}
            if any(name not in self._seconds for name in left):
                return None
            total = sum_in_order(count * fmean(self._seconds[name]) for name, count in left.items())
        return total / self._at_once
