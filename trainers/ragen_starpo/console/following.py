"""Training, whose files are followed by a progress bar, in whatever processes it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ragen_bench.console.plain import plain_console
from ragen_bench.runs.json_lines import numbered
from ragen_starpo.console.progress import progress_bar

if TYPE_CHECKING:
    from ragen_starpo.diagnostics.tensorboard import EventFiles

_PAUSE = 0.5
"""Seconds between two looks at what the run has written."""


@contextmanager
def follow(
    name: str, iterations: int, out: Path, tensorboard: bool, status: str = ""
) -> Iterator[None]:
    """Print held-out figures while a run is trained, and in the end where the models are.

    Args:
        name: of the recipe, which stands beside the bar.
        iterations: of the whole run.
        out: directory of the run.
        tensorboard: whether event files are written.
        status: until the first iteration is there.
    """
    bar = progress_bar(plain_console())
    events = _event_files(out) if tensorboard else None
    with bar, events or nullcontext():
        task = bar.add_task(name, total=iterations, status=status)

        def on_metrics(line: dict[str, Any]) -> None:
            number = line["iteration"]
            played = f"success {line['rollout/success']:.3f} reward {line['rollout/reward']:.2f}"
            bar.update(task, completed=number + 1, status=played)
            if "val/success" in line:
                bar.console.print(f"Iteration {number}: held-out success {line['val/success']:.3f}")

        def on_warning(line: dict[str, Any]) -> None:
            bar.console.print(line["text"], soft_wrap=True)

        def on_timings(line: dict[str, Any]) -> None:
            if events:
                write_events(events, out, line)

        callbacks = {"metrics": on_metrics, "warnings": on_warning, "timings": on_timings}
        with ExitStack() as followers:
            for file, on_line in callbacks.items():
                followers.enter_context(Following(out / f"{file}.jsonl", on_line))
            yield
    print_places(bar.console, out)


def print_places(console: Console, run: Path) -> None:
    """Print where a run and its models are: `best/` only if there was a validation."""
    models = [str(run / name) for name in ("best", "final") if (run / name).is_dir()]
    console.print(f"Run     {run}", soft_wrap=True)
    console.print(f"Models  {', '.join(models)}", soft_wrap=True)


def _event_files(run: Path) -> EventFiles:
    from ragen_starpo.diagnostics.tensorboard import EventFiles

    return EventFiles(run / "tensorboard")


def write_events(events: EventFiles, run: Path, timing: dict[str, Any]) -> None:
    """Write an iteration of a run as events.

    Args:
        events: the event files.
        run: its directory, whose `metrics.jsonl` holds the iteration.
        timing: its line of `timings.jsonl`, which is written after that of the metrics.
    """
    number = timing["iteration"]
    lines = numbered(run / "metrics.jsonl")
    metrics = next(line for _, line in lines if line["iteration"] == number)
    events.write(number, _without_number(metrics), _without_number(timing))


def _without_number(line: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in line.items() if name != "iteration"}


class Following:
    """Calls a function with each whole line that is added to a file while it is followed.

    Args:
        file: which need not be there yet.
        on_line: called with each line, in a thread of its own.
    """

    def __init__(self, file: Path, on_line: Callable[[dict[str, Any]], None]) -> None:
        self._file, self._on_line = file, on_line
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._known, self._size = sum(1 for _ in numbered(file)), -1

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Call the function with what is new."""
        size = self._file.stat().st_size if self._file.exists() else 0
        if size == self._size:
            return
        self._size = size
        lines = [line for _, line in numbered(self._file)]
        # A resumed run drops what came after its checkpoint.
        self._known = min(self._known, len(lines))
        for line in lines[self._known :]:
            self._on_line(line)
        self._known = len(lines)

    def _follow(self) -> None:
        over = False
        while not over:
            over = self._over.wait(_PAUSE)
            self.look()
