"""The command that runs Python under bubblewrap, with an agent's files and without all others."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import ragen_bench
import ragen_envs
from ragen_bench.errors import UserError
from ragen_bench.models.agents.system_calls import KNOWN
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, KEY_VARIABLE

TEMPORARY = 64 << 20
"""Bytes of the only folder that can be written, which is in memory."""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONHASHSEED", "OMP_NUM_THREADS")
"""Variables of the environment that an isolated agent sees."""
_APART = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL", "--clearenv", "--hostname", "agent"),
)


def has_sealed_key() -> bool:
    """Return whether this process can get at a sealed key, and so whatever runs beside it could."""
    return bool(os.environ.get(KEY_VARIABLE) or os.environ.get(KEY_FILE_VARIABLE))


def refuse_where_not(named: str, reason: str) -> None:
    """Raise if nothing can be isolated here.

    Args:
        named: what messages say of the agent.
        reason: why it is to be isolated.

    Raises:
        UserError: with what to do.
    """
    if problem := why_not():
        raise UserError(f"{named} is to be isolated ({reason}), and {problem}")


def why_not() -> str:
    """Return why nothing can be isolated here, "" if it can as far as can be told."""
    if not sys.platform.startswith("linux") or platform.machine() not in KNOWN:
        return f"bubblewrap isolates on Linux alone, on {' and '.join(KNOWN)}"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt install bubblewrap"
    return ""


def isolated(command: Sequence[str], files: Sequence[Path], named: str, calls: int) -> list[str]:
    """Return a command that runs another under bubblewrap.

    It has no network, sees no other process, and reads Python, this project's packages and the
    agent's files. A small folder in memory is all that it can write.

    Args:
        command: that runs Python.
        files: of the agent.
        named: what messages say of it.
        calls: the descriptor to read the filter of system calls from.

    Raises:
        UserError: if the sealed key's file is among what the agent may read.
    """
    shown = [*_pythons_own(), *files]
    _refuse_key(shown, named)
    here = str(Path.cwd())
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    variables |= {"HOME": "/tmp", "PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return [
        *(shutil.which("bwrap") or "bwrap", *_APART, "--proc", "/proc", "--dev", "/dev"),
        *("--size", str(TEMPORARY), "--tmpfs", "/tmp", "--dir", here),
        *(word for path in _LIBRARIES for word in ("--ro-bind-try", path, path)),
        *(word for path in shown for word in ("--ro-bind", str(path), str(path))),
        # Where the scorer is root, so is the agent to /proc/sys.
        *(word for path in ("/proc", "/dev", "/") for word in ("--remount-ro", path)),
        *("--chdir", here),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        *("--seccomp", str(calls), "--", *command),
    ]


def _pythons_own() -> list[Path]:
    """Return the folders of this Python, of what is installed, and of this project's packages."""
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib")}
    installed |= {
        path for path in sys.path if {"site-packages", "dist-packages"} & {*Path(path).parts}
    }
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    packages = {str(Path(module.__file__ or "").parent) for module in (ragen_bench, ragen_envs)}
    every = {Path(path).absolute() for path in installed | prefixes | packages}
    # What lies in another one is there already; where a link stands for a folder, both are there.
    every |= {path.resolve() for path in every}
    return sorted(path for path in every if path.is_dir() and not every & set(path.parents))


def _refuse_key(shown: Sequence[Path], named: str) -> None:
    """Refuse to show an agent the file with the sealed key."""
    if not (file := os.environ.get(KEY_FILE_VARIABLE)):
        return
    key = Path(file).resolve()
    for path in (path.resolve() for path in shown):
        if key == path or path in key.parents:
            raise UserError(
                f"{named} could read the sealed key {file}, which is in {path}; put the key "
                "elsewhere"
            )
