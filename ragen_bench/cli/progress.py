"""The progress bar of commands that go over recorded episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


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
