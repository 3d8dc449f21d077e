"""Training, whose files are followed by a progress bar, in whatever processes it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console

from ragen_bench.console.plain import plain_console
from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import numbered
from ragen_starpo.console.progress import progress_bar
from ragen_starpo.local.run import iterations_done

_PAUSE = 0.5
"""Seconds between two looks at what the run has written."""


class Told(AbstractContextManager[object], Protocol):
    """What is told the figures of each iteration beside the run's own files: a context."""

    def write(self, number: int, figures: Mapping[str, float]) -> None:
        """Take the figures of an iteration, by name."""


@contextmanager
def follow(
    name: str, iterations: int, out: Path, told: Sequence[Told] = (), status: str = ""
) -> Iterator[None]:
    """Print held-out figures while a run is trained, and in the end where the models are.

    Args:
        name: of the recipe, which stands beside the bar.
        iterations: of the whole run.
        out: directory of the run.
        told: what else is told the figures.
        status: until the first iteration is there.

    Raises:
        UserError: in the end, if one of what is told failed. It was dropped then, and why was
            printed at once.
    """
    failed: list[Told] = []
    bar = progress_bar(plain_console())
    with ExitStack() as contexts:
        for sink in told:
            contexts.enter_context(sink)
        contexts.enter_context(bar)
        done = iterations_done(out)
        task = bar.add_task(name, total=iterations, completed=done, status=status)

        def on_metrics(line: dict[str, Any]) -> None:
            number = line["iteration"]
            bar.update(task, completed=number + 1, status=_played(line))
            if "val/success" in line:
                bar.console.print(f"Iteration {number}: held-out success {line['val/success']:.3f}")

        def on_warning(line: dict[str, Any]) -> None:
            bar.console.print(line["text"], soft_wrap=True)

        def on_failures(line: dict[str, Any]) -> None:
            message = (
                f"Iteration {line['iteration']}: groups left out for episodes that ended in errors:"
                f" {line['groups']}; the first error: {line['error']}"
            )
            bar.console.print(message, soft_wrap=True, markup=False)

        def on_timings(line: dict[str, Any]) -> None:
            for sink in (sink for sink in told if sink not in failed):
                try:
                    sink.write(line["iteration"], figures_of(out, line))
                except UserError as error:
                    failed.append(sink)
                    bar.console.print(str(error), soft_wrap=True, markup=False)

        callbacks = {
            "metrics": on_metrics,
            "warnings": on_warning,
            "failures": on_failures,
            "timings": on_timings,
        }
        for file, on_line in callbacks.items():
            contexts.enter_context(Following(out / f"{file}.jsonl", on_line))
        yield
    print_places(bar.console, out)
    if failed:
        raise UserError("not all figures were told, see above", exit_code=1)


def print_places(console: Console, run: Path) -> None:
    """Print where a run and its models are: `best/` only if there was a validation."""
    models = [str(run / name) for name in ("best", "final") if (run / name).is_dir()]
    console.print(f"Run     {run}", soft_wrap=True)
    console.print(f"Models  {', '.join(models)}", soft_wrap=True)


def figures_of(run: Path, timing: dict[str, Any]) -> dict[str, float]:
    """Return the figures of an iteration by the names of `metrics.jsonl` and as `seconds/PHASE`.

    Args:
        run: the run's directory, whose `metrics.jsonl` holds the iteration.
        timing: its line of `timings.jsonl`, which is written after that of the metrics.
    """
    number = timing["iteration"]
    lines = numbered(run / "metrics.jsonl")
    metrics = next(line for _, line in lines if line["iteration"] == number)
    seconds = {f"seconds/{phase}": taken for phase, taken in _without_number(timing).items()}
    return {**_without_number(metrics), **seconds}


def _without_number(line: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in line.items() if name != "iteration"}


class Following:
    """Calls a function with each whole line that is added to a file while it is followed.

    A user's error that it raises ends the following, and is raised when the context ends.

    Args:
        file: which need not be there yet.
        on_line: called with each line, in a thread of its own.
    """

    def __init__(self, file: Path, on_line: Callable[[dict[str, Any]], None]) -> None:
        self._file, self._on_line = file, on_line
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._known, self._size = sum(1 for _ in numbered(file)), -1
        self._error: UserError | None = None

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
        if self._error and error is None:
            raise self._error

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
        try:
            while not over:
                over = self._over.wait(_PAUSE)
                self.look()
        except UserError as error:
            self._error = error


def _played(line: dict[str, Any]) -> str:
    """Return what stands beside the bar of an iteration's rollouts."""
    errors = {"failed": "rollout/failed", "begun anew": "rollout/begun_anew"}
    counts = [f" {what} {line[name]}" for what, name in errors.items() if name in line]
    success, reward = line["rollout/success"], line["rollout/reward"]
    return f"success {success:.3f} reward {reward:.2f}{''.join(counts)}"
