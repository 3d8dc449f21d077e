"""Commands on the machines of a Ray cluster, which share the folder that they run in."""

from __future__ import annotations

import contextlib
import logging
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import ray
from ray.exceptions import RayError, TaskCancelledError

from ragen_bench.errors import INTERRUPTED, UserError, described
from ragen_starpo.cluster.ray_session import check_address
from ragen_starpo.commands import Commands, Stage, started

_POLL_SECONDS = 0.2
_NOT_THERE = -1


class RayCommands(Commands):
    """Runs each stage on one core of some machine, and on one GPU where the study wants them.

    Args:
        gpus: that each command books.
    """

    def __init__(self, gpus: int) -> None:
        super().__init__()
        self._task: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(_typed)
        self._tasks: set[Any] = set()

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        super().stop()
        for task in list(self._tasks):
            ray.cancel(task)

    def _code(self, folder: Path, stage: Stage, log: TextIO) -> int:
        with self._starting:
            if self._stopped:
                return INTERRUPTED
            task = self._task.remote(stage.program, stage.arguments, folder, log.name)
            self._tasks.add(task)
        try:
            code, machine = ray.get(task)
        except TaskCancelledError:
            return INTERRUPTED
        except RayError as error:
            raise UserError(f"`{stage.typed}` was lost by Ray: {described(error)}", 1) from None
        finally:
            self._tasks.discard(task)
        if code == _NOT_THERE:
            raise UserError(
                f"{machine} does not have {folder}: Ray's machines must share the study's folder "
                "at the same path",
                1,
            )
        return int(code)


@contextlib.contextmanager
def joined(address: str) -> Iterator[None]:
    """Join a Ray cluster for the time of a study.

    Args:
        address: `HOST:PORT` of its head.

    Raises:
        UserError: if nobody answers there, or Ray does not start.
    """
    check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise UserError(f"the Ray cluster at {address}: {described(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _typed(program: str, arguments: Sequence[str], folder: Path, log: str) -> tuple[int, str]:
    """Run a command in a folder on some machine, and return its exit code and the machine."""
    machine: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    if not folder.is_dir():
        return _NOT_THERE, machine
    with Path(log).open("ab") as file:
        child = started(program, arguments, folder, file)
        try:
            # A task that is cancelled is interrupted between two calls, not in one that waits.
            while child.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_POLL_SECONDS)
        except BaseException:  # the task was cancelled, or Ray ends
            child.terminate()
            child.wait()
            raise
    return child.returncode, machine
