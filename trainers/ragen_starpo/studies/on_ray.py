"""Runs commands on the machines of a Ray cluster, which share the study's folder."""

from __future__ import annotations

import contextlib
import logging
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import ray
from ray.exceptions import RayError, TaskCancelledError

from ragen_bench.errors import INTERRUPTED, UserError, described
from ragen_starpo.cluster.ray_session import check_address
from ragen_starpo.commands import Commands, Stage, start_program

_POLL_SECONDS = 0.2
_NOT_THERE = -1


class RayCommands(Commands):
    """Runs each stage on one core of any machine, and on `gpus` GPUs if the study uses them."""

    def __init__(self, gpus: int) -> None:
        super().__init__()
        self._task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(_run_here)
        self._tasks: set[ray.ObjectRef[tuple[int, str]]] = set()

    def stop(self) -> None:
        """Terminate the running commands and start no others."""
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
            raise UserError(f"Ray lost `{stage.shell_command}`: {described(error)}", 1) from None
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
def join_cluster(address: str) -> Iterator[None]:
    """Join the Ray cluster of the head `HOST:PORT` for a study; UserError if that fails."""
    check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise UserError(f"the Ray cluster at {address}: {described(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _run_here(program: str, arguments: Sequence[str], folder: Path, log: str) -> tuple[int, str]:
    """Run a command in a folder; return its exit code and the machine's address."""
    machine: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    if not folder.is_dir():
        return _NOT_THERE, machine
    with Path(log).open("ab") as file:
        child = start_program(program, arguments, folder, file)
        try:
            # A cancelled task is interrupted between two calls only, so no call waits for long.
            while child.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_POLL_SECONDS)
        except BaseException:  # the task was cancelled, or Ray ends
            child.terminate()
            child.wait()
            raise
    return child.returncode, machine
