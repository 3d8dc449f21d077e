"""The sandbox: the bubblewrap command, and the files that an agent may read."""

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
from ragen_bench.models.agents.agent_files import AgentFiles
from ragen_bench.models.agents.system_calls import MACHINES
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, KEY_VARIABLE

_TEMPORARY = 64 << 20
"""Bytes of the only writable folder, which is in memory."""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_VARIABLES = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONHASHSEED", "OMP_NUM_THREADS")
"""Environment variables that a sandboxed agent sees."""
_NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL", "--clearenv", "--hostname", "agent"),
)


def has_sealed_key() -> bool:
    """Return whether this process, and so any unsandboxed child of it, can read a sealed key."""
    return bool(os.environ.get(KEY_VARIABLE) or os.environ.get(KEY_FILE_VARIABLE))


def sandbox_problem() -> str:
    """Return why no sandbox can be made on this machine; "" if one probably can."""
    if not sys.platform.startswith("linux") or platform.machine() not in MACHINES:
        return f"bubblewrap isolates on Linux alone, on {' and '.join(MACHINES)}"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt install bubblewrap"
    return ""


def sandbox_command(
    command: Sequence[str], files: AgentFiles | None, label: str, filter_fd: int
) -> list[str]:
    """Return a command that runs Python's `command` under bubblewrap.

    The sandbox has no network and shows no other process. It can read Python, this project's
    packages and the agent's files, and write to a small folder in memory. `label` names the
    agent in messages, and `filter_fd` is the descriptor of the seccomp filter. A UserError says
    that the agent could read the file of the sealed key.
    """
    visible = [*_python_folders(), *([files.path] if files else [])]
    if file := os.environ.get(KEY_FILE_VARIABLE):
        key = Path(file).resolve()
        for path in (path.resolve() for path in visible):
            if key == path or path in key.parents:
                raise UserError(
                    f"{label} could read the sealed key {file}, which is in {path}; put the key "
                    "elsewhere"
                )
    here = str(Path.cwd())
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    variables |= {"HOME": "/tmp", "PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    return [
        *(shutil.which("bwrap") or "bwrap", *_NAMESPACES, "--proc", "/proc", "--dev", "/dev"),
        *("--size", str(_TEMPORARY), "--tmpfs", "/tmp", "--dir", here),
        *(word for path in _LIBRARIES for word in ("--ro-bind-try", path, path)),
        *(word for path in visible for word in ("--ro-bind", str(path), str(path))),
        *(word for path in (files.hidden if files else ()) for word in _hide(path)),
        # If the scorer is root, the agent would be root for /proc/sys.
        *(word for path in ("/proc", "/dev", "/") for word in ("--remount-ro", path)),
        *("--chdir", here),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        *("--seccomp", str(filter_fd), "--", *command),
    ]


def _hide(path: Path) -> Sequence[str]:
    if path.is_dir():
        return ("--tmpfs", str(path), "--remount-ro", str(path))
    return ("--ro-bind", "/dev/null", str(path))


def _python_folders() -> list[Path]:
    """Return the folders of this Python, of installed packages, and of this project's packages."""
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib")}
    installed |= {
        path for path in sys.path if {"site-packages", "dist-packages"} & {*Path(path).parts}
    }
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    packages = {str(Path(module.__file__ or "").parent) for module in (ragen_bench, ragen_envs)}
    every = {Path(path).absolute() for path in installed | prefixes | packages}
    # A link needs its target too; a folder inside another one is bound with it.
    every |= {path.resolve() for path in every}
    return sorted(path for path in every if path.is_dir() and not every & set(path.parents))
