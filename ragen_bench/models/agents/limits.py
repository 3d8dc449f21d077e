"""Limits of a sandbox that lie outside its process: control groups, and a watch over the rest.

A control group counts threads and all memory, the kernel's too. Where the scorer may not make one,
RLIMIT_NPROC counts the threads of an ordinary user's sandbox, and `Watch` ends one that has more
threads or files than allowed.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ragen_bench.json_types import JsonObject

THREADS = 512 + 4 * (os.cpu_count() or 1)
"""Maximum number of an isolated agent's threads."""
TEMPORARY_FILES = 10_000
"""Maximum number of files in its `/tmp`."""
_EXTRA_MEMORY = 128 << 20
"""Bytes beyond the agent's address space: its `/tmp`, and buffers of the kernel."""
_SANDBOX_PROCESSES = 4
"""Processes of bubblewrap in the group, one of them more than there are."""
_PERIOD = 0.2
_REMOVAL_SECONDS = 2.0


def worker_limits(memory: int) -> JsonObject:
    """Return the limits that the agent's process sets itself, of `memory` in GiB."""
    # Before 5.14, RLIMIT_NPROC counts all processes of the user instead of those of the sandbox.
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    counts_sandbox = release is not None and (int(release[1]), int(release[2])) >= (5, 14)
    return {"memory": memory, "threads": THREADS if counts_sandbox else 0}


class ControlGroups:
    """New control groups with the limits of one sandbox; none where they cannot be made."""

    def __init__(self, memory: int) -> None:
        values = {
            "memory.max": (memory << 30) + _EXTRA_MEMORY,
            "memory.swap.max": 0,
            "memory.limit_in_bytes": (memory << 30) + _EXTRA_MEMORY,  # version 1
            "pids.max": THREADS + _SANDBOX_PROCESSES,
        }
        made = (_make_group(folder, values) for folder in _own_groups())
        self.groups = [group for group in made if group]

    def join_command(self, command: Sequence[str]) -> Sequence[str]:
        """Return a command that joins the groups and then becomes `command`."""
        if not self.groups:
            return command
        joins = [f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}" for group in self.groups]
        return ["/bin/sh", "-c", " && ".join([*joins, 'exec "$@"']), "sh", *command]

    def remove(self) -> None:
        """Remove the groups once their last process has ended."""
        deadline = time.monotonic() + _REMOVAL_SECONDS
        while self.groups and time.monotonic() < deadline:
            try:
                self.groups[-1].rmdir()
                self.groups.pop()
            except FileNotFoundError:
                self.groups.pop()
            except OSError:
                time.sleep(0.01)


def _own_groups() -> Iterator[Path]:
    """Yield the folder of this process's group in each hierarchy that is mounted."""
    with suppress(OSError):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            for fields in mounts:
                kind, _, options = fields[fields.index("-") + 1 :][:3]
                controllers = set(options.split(",")) if kind == "cgroup" else set()
                is_here = kind == "cgroup2" if not names else {*names.split(",")} <= controllers
                if is_here and (not names or {"memory", "pids"} & controllers):
                    yield Path(fields[4]) / os.path.relpath(path, fields[3])


def _make_group(folder: Path, values: dict[str, int]) -> Path | None:
    """Return a new group in a folder, or in the nearest one above it that lets one be limited."""
    for parent in (folder, *folder.parents):
        if not (parent / "cgroup.procs").exists():
            return None
        with suppress(OSError):
            group = Path(tempfile.mkdtemp(prefix="ragen-agent-", dir=parent))
            limits = [name for name in values if (group / name).exists()]
            with suppress(OSError):
                for name in limits:
                    (group / name).write_text(str(values[name]))
                if limits and _can_join(group):
                    return group
            group.rmdir()
    return None


def _can_join(group: Path) -> bool:
    join = ["/bin/sh", "-c", 'echo $$ > "$0"', str(group / "cgroup.procs")]
    return subprocess.run(join, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Watch(threading.Thread):
    """Ends a sandbox that has too many threads or files; `reason` then says so."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self._process, self._ended = process, threading.Event()
        self.reason = ""

    def run(self) -> None:
        """Look at the agent's process until it ends."""
        agent = 0
        while not self._ended.wait(_PERIOD) and self._process.poll() is None:
            with suppress(OSError, ValueError):
                agent = agent or _find_agent(self._process.pid)
                if agent:
                    self.reason = _excess(agent)
            if self.reason:
                self._process.kill()
                return

    def stop(self) -> None:
        """Stop looking."""
        self._ended.set()
        self.join()


def _find_agent(bubblewrap: int) -> int:
    """Return the child of bubblewrap's child, which is the agent's process, or 0."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(file.parent.name)] = int(file.read_text().rpartition(")")[2].split()[1])
    below = {process for process, parent in parents.items() if parent == bubblewrap}
    return next((process for process, parent in parents.items() if parent in below), 0)


def _excess(agent: int) -> str:
    """Return the limit that the agent's process exceeds, or ""."""
    status = Path(f"/proc/{agent}/status").read_text()
    threads = re.search(r"^Threads:\s+(\d+)$", status, re.MULTILINE)
    if threads and int(threads[1]) > THREADS:
        return f"it had more than {THREADS} threads"
    temporary = os.statvfs(Path("/proc", str(agent), "root", "tmp"))  # its own /tmp
    if temporary.f_files - temporary.f_ffree > TEMPORARY_FILES:
        return f"it had more than {TEMPORARY_FILES:,} files in /tmp"
    return ""
