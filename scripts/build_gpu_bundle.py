"""Packs what a GPU host without a network lacks for `ragen-train`, as one tar.xz.

    python scripts/build_gpu_bundle.py gpu-bundle.tar.xz

The host has PyTorch with CUDA, transformers and their usual company, and Python 3.12 on x86-64
Linux; the packages of gpu_bundle.txt come on top. There

    mkdir site && tar xf gpu-bundle.tar.xz -C site
    PYTHONPATH=site:.:trainers python3 benchmarks/one_device.py

Nothing here runs on a GPU, and no package asks for its dependencies: the list is complete. vLLM is
not in it: with its kernels it is ten times as large as the rest.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

LIST = Path(__file__).with_name("gpu_bundle.txt")
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "manylinux1")
UNUSED = (
    "ray/rllib",
    "ray/serve",
    "ray/tune",
    "ray/llm",
    "ray/train",
    "ray/jars",
    "ray/thirdparty_files",
    "ray/dashboard/client",
    "bin",
)
"""Parts of Ray that no trainer here starts, and the commands of all packages."""
LIMIT = 64 << 20
"""Bytes that travel to such a host, the project's own files included."""


def main() -> int:
    """Build the bundle and print its size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="the bundle, as gpu-bundle.tar.xz")
    parser.add_argument("--python", default="3.12", help="of the host (default: 3.12)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        install(site, Path(folder) / "wheels", given.python)
        before = size_of(site)
        strip(site)
        pack(site, given.out)
        after = size_of(site)
    packed = given.out.stat().st_size
    sys.stdout.write(
        f"{given.out}: {packed / 2**20:.1f} MiB, unpacked {after / 2**20:.0f} MiB "
        f"(before stripping {before / 2**20:.0f} MiB)\n"
    )
    if packed > LIMIT:
        sys.stderr.write(f"more than {LIMIT >> 20} MiB cannot be carried\n")
        return 1
    return 0


def requirements() -> list[str]:
    """Return the pinned packages."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def install(site: Path, wheels: Path, python: str) -> None:
    """Install the packages for the host's Python version.

    Args:
        site: Target folder.
        wheels: Folder for packages without a wheel in the registry; they are pure Python.
        python: The host's Python version.
    """
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    wheels.mkdir()
    source_only = [line for line in requirements() if line.startswith("antlr4")]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, *source_only], check=True)
    platforms = [f"--platform={name}_x86_64" for name in PLATFORMS]
    options = ["--no-deps", "--no-compile", "--only-binary=:all:", f"--python-version={python}"]
    options += ["--implementation=cp", *platforms, f"--find-links={wheels}", f"--target={site}"]
    subprocess.run([*pip, "install", *options, "-r", LIST], check=True)


def strip(site: Path) -> None:
    """Remove what no run needs: unused parts, tests, debug symbols."""
    for name in UNUSED:
        shutil.rmtree(site / name, ignore_errors=True)
    for tests in [path for path in site.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests)
    for file in binaries(site):
        subprocess.run(["strip", "--strip-unneeded", str(file)], check=True)


def binaries(site: Path) -> Iterator[Path]:
    """Yield executables and shared libraries."""
    for path in site.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size > 4:
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def size_of(site: Path) -> int:
    """Return the bytes of all files."""
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file())


def pack(site: Path, out: Path) -> None:
    """Write a folder's content in one order, without owners and times: equal bytes every time."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(out, "w:xz", preset=9) as archive:
        for path in sorted(site.rglob("*")):
            archive.add(path, path.relative_to(site).as_posix(), recursive=False, filter=plain)


if __name__ == "__main__":
    sys.exit(main())
