"""The sandbox of a container: bubblewrap over folders of this machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import ragen_envs

FOLDERS = ("/app", "/game", "/logs", "/root", "/solution", "/tests", "/tmp")
"""Folders of a container that keep their files from one command to the next."""
_SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64"),
    *("/etc/alternatives", "/etc/ld.so.cache"),
)
_PYTHON = "/python"
_PACKAGES = ("site-packages", "dist-packages")
_ISOLATION = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL", "--clearenv", "--hostname", "main", "--proc", "/proc", "--dev", "/dev"),
)


def sandbox_command(
    root: Path,
    command: str,
    *,
    cwd: str,
    variables: Mapping[str, str],
    socket: Path | None,
) -> list[str]:
    """Return a command that runs another one by `sh -c` in the container whose folders are in root.

    It has no network and sees no other process. An agent's container sees the system's programs,
    Python without any package, and the game's socket. A verifier's has no socket, and sees this
    Python's packages instead.
    """
    mounts = {path: path for path in _SYSTEM}
    variables = {"HOME": "/root", "LANG": "C.UTF-8", **variables}
    if socket is None:
        packages = [str(Path(ragen_envs.__file__).parents[1]), *_package_folders()]
        mounts |= {path: path for path in (sys.base_prefix, sys.prefix, *packages)}
        variables["PYTHONPATH"] = ":".join(packages)
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        hidden = []
    else:
        # At a path of its own: below a folder that the agent writes to, it could be replaced.
        mounts |= {f"{_PYTHON}/{name}": f"{sys.base_prefix}/{name}" for name in ("bin", "lib")}
        mounts["/run/game"] = str(socket.parent)
        variables["LD_LIBRARY_PATH"] = f"{_PYTHON}/lib"
        path = f"/run/game:{_PYTHON}/bin:/usr/bin:/bin"
        hidden = [
            *_packages_below("/usr/lib", "/usr/lib"),
            *_packages_below(f"{sys.base_prefix}/lib", f"{_PYTHON}/lib"),
        ]
    variables["PATH"] = path
    return [
        *(shutil.which("bwrap") or "bwrap", *_ISOLATION),
        *(word for each in FOLDERS for word in ("--bind", f"{root}{each}", each)),
        *(word for target, source in mounts.items() for word in ("--ro-bind-try", source, target)),
        *(word for each in hidden for word in ("--tmpfs", each)),
        *("--remount-ro", "/", "--chdir", cwd),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        *("--", "sh", "-c", command),
    ]


def _package_folders() -> list[str]:
    return [path for path in sys.path if Path(path).name in _PACKAGES]


def _packages_below(source: str, target: str) -> list[str]:
    """Return where a folder of libraries, mounted at a target, shows installed packages."""
    return [
        f"{target}/{path.relative_to(source)}"
        for name in _PACKAGES
        for path in Path(source).glob(f"python3*/{name}")
    ]
