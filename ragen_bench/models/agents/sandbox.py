"""The sandbox: the bubblewrap command, its seccomp filter, and the files that an agent may read.

The filter forbids new processes and system calls that hide memory; threads may be started. It is a
program of classic BPF with 8 bytes per instruction.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import struct
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

import ragen_bench
import ragen_envs
from ragen_bench.errors import UserError
from ragen_bench.user_code import find_imports
from ragen_envs.core.sealed import KEY_FILE_VARIABLE, KEY_VARIABLE

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD = 0x10000
_X32_CALLS = 0x40000000
"""First system call number of the x32 ABI, which nothing here uses."""


class _Machine(NamedTuple):
    """AUDIT_ARCH of a machine and numbers of its system calls.

    clone3 is clone with flags that no filter can read. Forbidden are fork, vfork, unshare, mount,
    setns, ptrace, memfd_create, shmget, add_key, request_key, keyctl, bpf, perf_event_open,
    userfaultfd and io_uring_setup.
    """

    architecture: int
    clone: int
    clone3: int
    forbidden: tuple[int, ...]


MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        56,
        435,
        (57, 58, 272, 165, 308, 101, 319, 29, 248, 249, 250, 321, 298, 323, 425),
    ),
    "aarch64": _Machine(
        0xC00000B7, 220, 435, (97, 40, 268, 117, 279, 194, 217, 218, 219, 280, 241, 282, 425)
    ),
}
"""Supported machines, by `platform.machine()`."""


def make_filter(machine: str) -> bytes:
    """Return the filter for one of `MACHINES`."""
    calls = MACHINES[machine]
    forbid = _ERROR | errno.EPERM
    program = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_IF_EQUAL, 1, 0, calls.architecture)),
        *((_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)),
        *((_IF_AT_LEAST, 0, 1, _X32_CALLS), (_RETURN, 0, 0, _KILL)),
    ]
    for number in calls.forbidden:
        program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, forbid)]
    # Without clone3 the C library falls back on clone, whose flags the filter can read.
    program += [(_IF_EQUAL, 0, 1, calls.clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    program += [
        *((_IF_EQUAL, 0, 3, calls.clone), (_LOAD, 0, 0, _FIRST_ARGUMENT)),
        *((_IF_SET, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, forbid), (_RETURN, 0, 0, _ALLOW)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


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
    command: Sequence[str], files: Sequence[Path], label: str, filter_fd: int
) -> list[str]:
    """Return a command that runs Python's `command` under bubblewrap.

    The sandbox has no network and shows no other process. It can read Python, this project's
    packages and the agent's files, and write to a small folder in memory. `label` names the
    agent in messages, and `filter_fd` is the descriptor of the seccomp filter. A UserError says
    that the agent could read the file of the sealed key.
    """
    visible = [*_python_folders(), *files]
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
        # If the scorer is root, the agent would be root for /proc/sys.
        *(word for path in ("/proc", "/dev", "/") for word in ("--remount-ro", path)),
        *("--chdir", here),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        *("--seccomp", str(filter_fd), "--", *command),
    ]


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


def find_agent_files(module: str, label: str) -> tuple[Path, ...]:
    """Return the files of the user's folder that a sandboxed agent may read, without imports.

    These are the outermost package of its module, or else its file, and the files of the same
    folder that their `import` statements reach: absolute paths of files and folders. There are
    none if the module has no file or is not found; its import then reports that. A UserError
    refuses a path that is a link, which could lead to any file.
    """
    first, *inner = module.split(".")
    here = str(Path.cwd())
    path = [entry or here for entry in sys.path]
    top = spec = _find_spec(first, path if here in path else [here, *path])
    for end in range(len(inner)):
        if spec is not None and spec.submodule_search_locations is not None:
            name = ".".join([first, *inner[: end + 1]])
            spec = _find_spec(name, [*spec.submodule_search_locations])
    places = (top.submodule_search_locations or ()) if top else ()
    packages = {Path(place).absolute() for place in places}
    files = {
        Path(one.origin).absolute()
        for one in (top, spec)
        if one and one.has_location and one.origin
    }
    if not packages | files:
        return ()
    root = min(packages or files).parent
    found = packages.union(files, *(find_imports(file, root, first) for file in files))
    outermost = sorted(path for path in found if not packages & set(path.parents))
    for each in outermost:
        if each.is_relative_to(root) and each.resolve() != root.resolve() / each.relative_to(root):
            raise UserError(f"{label}: {each} is a link; a sandboxed agent's files must not be")
    return tuple(outermost)


def _find_spec(name: str, path: list[str]) -> ModuleSpec | None:
    return PathFinder.find_spec(name, path) if all(name.split(".")) else None
