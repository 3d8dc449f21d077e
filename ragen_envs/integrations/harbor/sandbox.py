"""The sandbox of a container: bubblewrap over folders of this machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

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
    Python without any package, and the game's socket. A verifier's has no socket, and sees all that
    this Python can import.
    """
    mounts = {path: path for path in _SYSTEM}
    variables = {"HOME": "/root", "LANG": "C.UTF-8", **variables}
    if socket is None:
        # Without links, below which nothing could be mounted.
        packages = [str(Path(path).resolve()) for path in sys.path if Path(path).is_dir()]
        prefix = str(Path(sys.prefix).resolve())
        mounts |= {path: path for path in (sys.base_prefix, prefix, *packages)}
        variables["PYTHONPATH"] = ":".join(packages)
        path, hidden = f"{prefix}/bin:/usr/bin:/bin", []
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


def _packages_below(source: str, target: str) -> list[str]:
    """Return where a folder of libraries, mounted at a target, shows installed packages."""
    return [
        f"{target}/{path.relative_to(source)}"
        for name in _PACKAGES
        for path in Path(source).glob(f"python3*/{name}")
    ]
