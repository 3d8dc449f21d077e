"""The sandbox: the bubblewrap command, and the files that a sandboxed agent may read."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import ragen_bench
import ragen_envs
from ragen_bench.errors import UserError
from ragen_bench.models.agents.seccomp import MACHINES
from ragen_bench.user_code import find_imports
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
    command: Sequence[str], files: Sequence[Path], label: str, filter_fd: int
) -> list[str]:
    """Return a command that runs Python under bubblewrap.

    The sandbox has no network and shows no other process. It can read Python, this project's
    packages and the agent's files, and write to a small folder in memory.

    Args:
        command: Command that runs Python.
        files: Files of the agent.
        label: Name of the agent in messages.
        filter_fd: File descriptor of the seccomp filter.

    Raises:
        UserError: The agent could read the file of the sealed key.
    """
    visible = [*_python_folders(), *files]
    _check_key(visible, label)
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


def _check_key(visible: Sequence[Path], label: str) -> None:
    if not (file := os.environ.get(KEY_FILE_VARIABLE)):
        return
    key = Path(file).resolve()
    for path in (path.resolve() for path in visible):
        if key == path or path in key.parents:
            raise UserError(
                f"{label} could read the sealed key {file}, which is in {path}; put the key "
                "elsewhere"
            )


def find_agent_files(module: str, label: str) -> tuple[Path, ...]:
    """Return the files of the user's folder that a sandboxed agent may read, without imports.

    These are the outermost package of its module, or else its file, and the files of the same
    folder that their `import` statements reach.

    Args:
        module: Dotted name.
        label: Name of the agent in messages.

    Returns:
        Absolute paths of files and folders. Empty if the module has no file or is not found; its
        import then reports that.

    Raises:
        UserError: A path is a link, which could lead to any file.
    """
    first, *inner = module.split(".")
    here = str(Path.cwd())
    path = [entry or here for entry in sys.path]
    top = spec = _find_spec(first, path if here in path else [here, *path])
    for end in range(len(inner)):
        if spec is not None and spec.submodule_search_locations is not None:
            name = ".".join([first, *inner[: end + 1]])
            spec = _find_spec(name, [*spec.submodule_search_locations])
    packages = {Path(place).absolute() for place in _package_folders(top)}
    files = {file for one in (top, spec) if (file := _spec_file(one))}
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


def _package_folders(spec: ModuleSpec | None) -> Iterable[str]:
    return (spec.submodule_search_locations or ()) if spec else ()


def _spec_file(spec: ModuleSpec | None) -> Path | None:
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    return Path(spec.origin).absolute()
