"""Runs a sequence of commands in a folder, each once."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from ragen_bench.errors import INTERRUPTED, UserError
from ragen_bench.reading import read_last_line
from ragen_bench.runs.json_lines import (
    append,
    cut_torn_line,
    parse_lines,
    read_whole,
    write_whole,
)

PLAN = "plan.json"
_RECORD = "stages.jsonl"


@dataclass(frozen=True)
class Stage:
    """A command, `ragen-train` or `ragen-bench`; paths are relative to the folder it runs in."""

    name: str
    program: str
    arguments: tuple[str, ...]

    @property
    def shell_command(self) -> str:
        """The command as typed in a shell."""
        return shlex.join([self.program, *self.arguments])


def start_program(
    program: str, arguments: Sequence[str], folder: Path, log: TextIO | BinaryIO
) -> subprocess.Popen[bytes]:
    """Start a stage's program in a folder, with one thread: small models gain nothing from two."""
    module = "ragen_starpo" if program == "ragen-train" else "ragen_bench"
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=log,
        stderr=subprocess.STDOUT,
    )


class Commands:
    """Runs stages; several threads may run them in several folders at a time."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._starting = threading.Lock()

    def run(
        self,
        folder: Path,
        stages: Sequence[Stage],
        settings: Mapping[str, object],
        on_stage: Callable[[Stage, float | None], None],
    ) -> None:
        """Run the stages that have not run in a folder yet; their output goes to `log.txt`.

        The folder's `plan.json` holds the commands and the settings, its `stages.jsonl` the
        finished commands with their seconds; see `is_finished`. `on_stage` is called with
        each stage when it begins, and with its seconds when it is done. UserError if a
        command fails, or the folder has another plan; the exit code is `INTERRUPTED` if
        `stop` ended the command.
        """
        _check_plan(folder, {"commands": [stage.shell_command for stage in stages], **settings})
        record = folder / _RECORD
        cut_torn_line(record)
        done = {line["command"]: line["seconds"] for _, line in parse_lines(record)}
        for stage in stages:
            on_stage(stage, None)
            if stage.shell_command not in done:
                start = time.perf_counter()
                self._run_stage(folder, stage)
                done[stage.shell_command] = round(time.perf_counter() - start, 1)
                line = {"stage": stage.name, "command": stage.shell_command}
                append(record, {**line, "seconds": done[stage.shell_command]})
            on_stage(stage, done[stage.shell_command])

    def stop(self) -> None:
        """Terminate the running commands and start no others."""
        with self._starting:
            self._stopped = True
        for child in list(self._running):
            child.terminate()

    def _run_stage(self, folder: Path, stage: Stage) -> None:
        log = folder / "log.txt"
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {stage.shell_command}\n")
            file.flush()
            code = self._code(folder, stage, file)
        if code in (INTERRUPTED, -signal.SIGTERM) and self._stopped:
            raise UserError(f"`{stage.shell_command}` was interrupted", exit_code=INTERRUPTED)
        if code:
            last = read_last_line(log)
            raise UserError(f"`{stage.shell_command}` failed: {last} (see {log})", exit_code=1)

    def _code(self, folder: Path, stage: Stage, log: TextIO) -> int:
        with self._starting:
            if self._stopped:
                return INTERRUPTED
            child = start_program(stage.program, stage.arguments, folder, log)
            self._running.add(child)
        try:
            return child.wait()
        finally:
            self._running.discard(child)


def is_finished(folder: Path) -> bool:
    """Return whether all commands of a folder's plan are done."""
    if not (folder / PLAN).exists():
        return False
    done = {line["command"] for _, line in parse_lines(folder / _RECORD)}
    return done >= set(read_whole(folder / PLAN)["commands"])


def _check_plan(folder: Path, plan: Mapping[str, object]) -> None:
    file = folder / PLAN
    if file.exists():
        if read_whole(file) != json.loads(json.dumps(plan)):
            raise UserError(f"{folder} holds the results of other commands; choose another --out")
        return
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} holds other files; choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(file, dict(plan))
