"""The files of a run that is being trained: new lines, and what is printed of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject

_POLL_SECONDS = 0.5


def describe_failure(line: JsonObject) -> str:
    """Describe the groups that an iteration dropped, a line of `failures.jsonl`."""
    return (
        f"Iteration {line['iteration']}: {line['groups']} groups were skipped because of failed "
        f"episodes; the first error: {line['error']}"
    )


def describe_memory(line: JsonObject) -> str:
    """Describe the estimate of a run's memory, a line of `memory.jsonl`, in GiB."""
    if "error" in line:
        return f"Memory  not estimated: {line['error']}"
    kept, phases = (
        ", ".join(f"{name} {size / 2**30:.1f}" for name, size in line[part].items())
        for part in ("kept", "phases")
    )
    free = "" if line["available"] is None else f" of {line['available'] / 2**30:.1f} free"
    rows, tokens = line["micro_batch"]
    return (
        f"Memory  {line['total'] / 2**30:.1f} GiB estimated{free}: {kept}; and in turns {phases} "
        f"(micro-batches of {rows * tokens:,} tokens)"
        + (f"; that is more than is free: {line['advice']}" if "advice" in line else "")
    )


@contextmanager
def follow_files(callbacks: Mapping[Path, Callable[[JsonObject], None]]) -> Iterator[None]:
    """Call a function with each line that is added to a file while the context lasts.

    It is called in a thread; the file need not exist yet. A UserError in it, or a broken line,
    ends the following and is raised at the end.
    """
    followers = [FileFollower(file, on_line) for file, on_line in callbacks.items()]
    finished = threading.Event()
    errors: list[UserError] = []

    def follow() -> None:
        last = False
        try:
            while not last:
                last = finished.wait(_POLL_SECONDS)
                for follower in followers:
                    follower.read_new_lines()
        except UserError as error:
            errors.append(error)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
    for error in errors:
        raise error


class FileFollower:
    """Calls a function with each whole line that is added to a file."""

    def __init__(self, file: Path, on_line: Callable[[JsonObject], None]) -> None:
        self._file, self._on_line = file, on_line
        self._count, self._size = len(self._read_lines()), -1

    def read_new_lines(self) -> None:
        """Call the function with each new line."""
        size = self._file.stat().st_size if self._file.exists() else 0
        if size == self._size:
            return
        self._size = size
        lines = self._read_lines()
        # A resumed run drops the lines after its checkpoint.
        self._count = min(self._count, len(lines))
        for line in lines[self._count :]:
            self._on_line(line)
        self._count = len(lines)

    def _read_lines(self) -> list[JsonObject]:
        from ragen_bench.runs.json_lines import numbered

        return [line for _, line in numbered(self._file)]
