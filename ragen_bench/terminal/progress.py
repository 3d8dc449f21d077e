"""Progress of long commands: a bar in a terminal, a line each minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragen_bench.runs.directory import RunDirectory
from ragen_bench.terminal.console import PlainConsole
from ragen_bench.visible import format_duration, write_error

_PAUSE = 60.0
_REFRESH = 0.25
_OTHER_COLUMNS = 64
"""Columns that the rest of the line next to a model's name takes at most."""
_SHORTEST = 16


class Pace:
    """Estimates the time left of a run of `total` planned episodes; `clock` returns seconds."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock, self._start = total, clock, clock()
        self._first: int | None = None

    def describe(self, episodes: int, success: float | None) -> str:
        """Return the success and the time left in words; episodes of the first call were there."""
        self._first = episodes if self._first is None else self._first
        parts = [] if success is None else [f"{100 * success:.0f} % solved"]
        if self._first < episodes < self._total:
            spent = self._clock() - self._start
            left = spent / (episodes - self._first) * (self._total - episodes)
            parts.append(f"{format_duration(left)} left")
        return ", ".join(parts)


class PlainProgress:
    """Writes a line to stderr once a minute, where no terminal shows a bar."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._start = self._last_line = clock()
        self._pace = Pace(total, clock)

    def tick(self, episodes: int, responses: int, success: float | None = None) -> None:
        """Write a line, unless one was written within the last minute."""
        pace = self._pace.describe(episodes, success)
        now = self._clock()
        if now - self._last_line < _PAUSE:
            return
        self._last_line = now
        minutes = (now - self._start) / 60
        write_error(
            f"{episodes} of {self._total} episodes, {responses} responses in {minutes:.0f} min"
            f"{pace and ', '}{pace}\n"
        )
        sys.stderr.flush()


class NotebookProgress:
    """Shows the progress of a run in a cell of a notebook."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        display = import_module("IPython.display").display  # every notebook kernel has it
        self._total, self._clock, self._last = total, clock, clock()
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def tick(self, episodes: int, responses: int, success: float | None = None) -> None:
        """Update the cell, a few times a second and at the end; see `PlainProgress.tick`."""
        now = self._clock()
        if now - self._last < _REFRESH and episodes < self._total:
            return
        self._last = now
        solved = "" if success is None else f", {100 * success:.0f} % solved"
        text = f"{episodes} of {self._total} episodes, {responses} responses{solved}"
        bar = f'<progress value="{episodes}" max="{self._total}"></progress> {text}'
        self._handle.update({"text/plain": text, "text/html": bar}, raw=True)


def progress_without_bar(
    console: Console, total: int
) -> Callable[[int, int, float | None], object]:
    """Return a function of episodes, responses and success that reports without a bar."""
    if console.quiet or console.is_terminal:
        return lambda *_: None
    return (NotebookProgress if PlainConsole().is_jupyter else PlainProgress)(total).tick


def shorten_name(name: str, columns: int) -> str:
    """Return a model's name for a width of the terminal; both ends distinguish models."""
    longest = max(_SHORTEST, columns - _OTHER_COLUMNS)
    if len(name) <= longest:
        return name
    half = (longest - 3) // 2
    return f"{name[:half]}...{name[-half:]}"


@contextmanager
def episodes_bar(console: Console, verb: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while episodes are replayed, and a clock while metrics are computed."""
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
        task = bar.add_task(verb, total=None)

        def report(episodes: int, planned: int) -> None:
            bar.update(task, completed=episodes, total=planned)
            if episodes == planned:
                # The random player and the oracle take longer than the replay.
                bar.update(task, description="Recomputing metrics and baselines")

        yield report


@contextmanager
def replay_bar(console: Console, run: RunDirectory) -> Iterator[Callable[[], None]]:
    """Show a bar while a run's episodes are replayed; yield the function to call after each."""
    # In a file a bar would leave an empty line.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Replaying", total=run.config.planned)
        yield lambda: bar.advance(task)
