"""Progress of long commands: a bar in a terminal, a line each minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragen_bench.runs.directory import RunDirectory
from ragen_bench.statistics.duration import duration

_PAUSE = 60.0
_BLINK = 0.25
_BESIDE = 64
"""The columns that everything beside a model's name takes at most."""
_SHORTEST = 16


class Pace:
    """Says how a run goes: the time left, and the success so far.

    Args:
        total: episodes of the run.
        clock: seconds since any moment.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock, self._start = total, clock, clock()
        self._first: int | None = None

    def said(self, episodes: int, success: float | None) -> str:
        """Return both in words, as far as they are known.

        Args:
            episodes: that are recorded; those of the first call were there before.
            success: the share of them that succeeded.
        """
        self._first = episodes if self._first is None else self._first
        parts = [] if success is None else [f"{100 * success:.0f} % solved"]
        if self._first < episodes < self._total:
            spent = self._clock() - self._start
            left = spent / (episodes - self._first) * (self._total - episodes)
            parts.append(f"{duration(left)} left")
        return ", ".join(parts)


class PlainProgress:
    """Writes a line to stderr now and then, where no terminal shows a bar.

    Args:
        total: episodes of the run.
        clock: seconds since any moment.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._start = self._last_line = clock()
        self._pace = Pace(total, clock)

    def tick(self, episodes: int, answers: int, success: float | None = None) -> None:
        """Write how far the run is, unless a line was written within the last minute.

        Args:
            episodes: that are recorded.
            answers: that this process received.
            success: the share of the episodes that succeeded.
        """
        said = self._pace.said(episodes, success)
        now = self._clock()
        if now - self._last_line < _PAUSE:
            return
        self._last_line = now
        minutes = (now - self._start) / 60
        sys.stderr.write(
            f"{episodes} of {self._total} episodes, {answers} answers in {minutes:.0f} min"
            f"{said and ', '}{said}\n"
        )
        sys.stderr.flush()


class NotebookProgress:
    """Shows in a cell of a notebook how far a run is.

    Args:
        total: episodes of the run.
        clock: seconds since any moment.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        display = import_module("IPython.display").display  # what runs a notebook has it
        self._total, self._clock, self._last = total, clock, clock()
        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def tick(self, episodes: int, answers: int, success: float | None = None) -> None:
        """Show how far the run is, as `PlainProgress.tick`, a few times a second and at the end."""
        now = self._clock()
        if now - self._last < _BLINK and episodes < self._total:
            return
        self._last = now
        solved = "" if success is None else f", {100 * success:.0f} % solved"
        text = f"{episodes} of {self._total} episodes, {answers} answers{solved}"
        bar = f'<progress value="{episodes}" max="{self._total}"></progress> {text}'
        self._handle.update({"text/plain": text, "text/html": bar}, raw=True)


def without_bar(console: Console, total: int) -> Callable[[int, int, float | None], None]:
    """Return what shows the progress of a run where no terminal shows a bar.

    Args:
        console: of the run.
        total: its episodes.

    Returns:
        A function of the number of episodes, of answers, and the success so far.
    """
    if console.quiet or console.is_terminal:
        return lambda *_: None
    return (NotebookProgress if Console().is_jupyter else PlainProgress)(total).tick


def shortened(name: str, columns: int) -> str:
    """Return a model's name without its middle if it is long: both ends tell models apart.

    Args:
        name: the model's.
        columns: of the terminal, in which a bar has to stand beside it.
    """
    longest = max(_SHORTEST, columns - _BESIDE)
    if len(name) <= longest:
        return name
    half = (longest - 3) // 2
    return f"{name[:half]}...{name[-half:]}"


@contextmanager
def episodes_bar(console: Console, doing: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while episodes are replayed, and a clock while the figures are computed.

    Args:
        console: where it is shown; it goes when the block ends.
        doing: what is done with the episodes, in a word.

    Yields:
        A function of the number of episodes so far and of all.
    """
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(doing, total=None)

        def progress(episodes: int, planned: int) -> None:
            bar.update(task, completed=episodes, total=planned)
            if episodes == planned:
                # The random and the oracle player take longer than the replay.
                bar.update(task, description="Recomputing figures, floor and ceiling")

        yield progress


@contextmanager
def replay_bar(console: Console, run: RunDirectory) -> Iterator[Callable[[], None]]:
    """Show a bar while the episodes of a run are replayed.

    Args:
        console: where it is shown; it goes when the block ends.
        run: whose episodes they are.

    Yields:
        A function to call after each episode.
    """
    # Into a file a bar would leave an empty line.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Replaying", total=run.config.planned)
        yield lambda: bar.advance(task)
