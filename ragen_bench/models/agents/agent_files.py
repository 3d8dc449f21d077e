"""The files of an isolated agent, found and hashed by the scorer, which imports none of them.

An agent is a folder of its own, the outermost package around its module, or a single file. It sees
only that. Its identity is a hash of all that it sees, whatever its process says of itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NoReturn

from ragen_bench.errors import UserError
from ragen_bench.user_code import hash_lines, read_regular

MAX_FILES = 20_000
MAX_BYTES = 32 << 30
_MAX_DEPTH = 64
_MAX_HIDDEN = 1000
"""Maximum number of hidden paths; bubblewrap takes 9000 words."""
_SOURCE_BYTES = 4 << 20
"""Maximum size of a source file that is searched for a second agent, in bytes."""
_HIDDEN = re.compile(r"\.|__pycache__$").match


@dataclass(frozen=True)
class AgentFiles:
    """The files of an isolated agent.

    Attributes:
        path: Its folder, or its only file.
        hidden: Files and folders in it that it does not see: `__pycache__`, and names with a dot
            first. Absolute paths.
        identity: Hash of the names and contents of what it sees, for the record.
    """

    path: Path
    hidden: tuple[Path, ...]
    identity: dict[str, str]

    def explain(self, error: str) -> str:
        """Return the message of an agent that may have missed a file, with what it sees."""
        if not re.search(r"\b(ModuleNotFound|Import|FileNotFound)Error\b", error):
            return error
        advice = (
            f"put what it needs into it, and import that as {self.path.name}.NAME"
            if self.path.is_dir()
            else "put it and what it needs into a folder of its own with an __init__.py"
        )
        return f"{error}; isolated, it sees {self.path.name} and installed packages alone: {advice}"


def find_agent_files(
    module: str, attribute: str, label: str, seconds: float | None = None
) -> AgentFiles | None:
    """Return the files of an agent; None if its module has no file or is not found.

    Its import then reports that. A UserError refuses links that lead outside, whatever is neither
    a file nor a folder, more than `MAX_FILES`, `MAX_BYTES` or `seconds` of reading, and a folder
    with other agents in it.
    """
    file, name = find_module_file(module)
    if file is None:
        return None
    depth = name.count(".") + file.name.startswith("__init__.")
    base, top = file.parents[depth], file
    if depth:
        # Packages up to the first folder without an `__init__.py`.
        for folder in file.parents[:depth]:
            if not os.path.lexists(folder / "__init__.py"):
                break
            top = folder
    if top.resolve() != base.resolve() / top.relative_to(base):
        raise UserError(f"{label}: {top} is a link; an isolated agent's files must not be")
    if Path.cwd().resolve().is_relative_to(top.resolve()):
        raise UserError(
            f"{label}: the working directory lies in {top}, the agent's folder, which would show "
            "it other runs; go to another folder and name the agent from there"
        )
    deadline = None if seconds is None else time.monotonic() + seconds
    reader = _Reader(label, base, top, attribute, deadline)
    try:
        reader.read(top, str(top))
    except OSError as error:
        raise UserError(f"{label}: {error.filename} cannot be read: {error.strerror}") from None
    reader.refuse_other_agents(file)
    return AgentFiles(top, tuple(reader.hidden), reader.identity())


class _Reader:
    """Reads an agent's folder from its root, relative to open folders and following no link."""

    def __init__(
        self, label: str, base: Path, top: Path, attribute: str, deadline: float | None
    ) -> None:
        self._label, self._base, self._top, self._deadline = label, base, top, deadline
        self._attribute = attribute
        self._definition = re.compile(
            rb"^(?:async[ \t]+def|def|class)[ \t]+%b\b" % re.escape(attribute).encode(),
            re.MULTILINE,
        )
        self._files, self._bytes = 0, 0
        self.hidden: list[Path] = []
        self._hashes: list[tuple[Path, str]] = []
        self._defining: list[Path] = []

    def identity(self) -> dict[str, str]:
        """Return the hash of all that was read."""
        return hash_lines((path.as_posix(), digest) for path, digest in sorted(self._hashes))

    def read(self, path: Path, name: str, folder: int | None = None, depth: int = 0) -> None:
        """Read a file or a folder by its name in an open folder."""
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        kind = stat.S_IFMT(mode)
        if depth and _HIDDEN(name) and kind in (stat.S_IFDIR, stat.S_IFREG):
            self.hidden.append(path)
            if len(self.hidden) > _MAX_HIDDEN:
                self._refuse(f"it has more than {_MAX_HIDDEN:,} hidden files and __pycache__")
        elif kind == stat.S_IFDIR:
            self._read_folder(path, name, folder, depth)
        elif kind == stat.S_IFREG:
            self._read_file(path, name, folder)
        elif kind == stat.S_IFLNK and depth:
            self._read_link(path, os.readlink(name, dir_fd=folder))
        else:
            self._refuse(f"{path} is neither a file nor a folder; remove it")

    def refuse_other_agents(self, file: Path) -> None:
        """Refuse a folder in which a file besides the agent's module defines its attribute."""
        others = [path for path in self._defining if path != file]
        if file.name == "__init__.py" and file not in self._defining:
            # A package may take its agent from one of its modules.
            own = [path for path in others if path.is_relative_to(file.parent)]
            others = [path for path in others if path not in own[:1]]
        if others:
            self._refuse(
                f"{others[0]} defines {self._attribute!r} too, and an isolated agent sees all of "
                "its folder: give each agent a folder of its own, and name the module that "
                "defines it"
            )

    def _read_folder(self, path: Path, name: str, folder: int | None, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self._refuse(f"{path} is more than {_MAX_DEPTH} folders deep")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        opened = os.open(name, flags, dir_fd=folder)
        try:
            names = []
            with os.scandir(opened) as items:  # not listdir: there may be millions
                for item in items:
                    names.append(item.name)
                    self._files += 1
                    if self._files > MAX_FILES:
                        self._refuse(f"it has more than {MAX_FILES:,} files")
            for inner in names:
                self.read(path / inner, inner, opened, depth + 1)
            if not names:
                self._add(path, hashlib.sha256(b"folder"))
        finally:
            os.close(opened)

    def _read_file(self, path: Path, name: str, folder: int | None) -> None:
        digest, source = hashlib.sha256(), bytearray()
        for data in read_regular(name, folder, MAX_BYTES - self._bytes):
            digest.update(data)
            self._bytes += len(data)
            if path.suffix == ".py" and len(source) < _SOURCE_BYTES:
                source += data
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._refuse("it takes too long to read; --timeout S gives it more")
        self._add(path, digest)
        if self._definition.search(source):
            self._defining.append(path)

    def _read_link(self, path: Path, target: str) -> None:
        end = (path.parent / target).resolve()
        if Path(target).is_absolute() or not end.is_relative_to(self._top.resolve()):
            self._refuse(f"{path} is a link out of its folder; put the file there")
        self._add(path, hashlib.sha256(b"link\0" + os.fsencode(target)))

    def _add(self, path: Path, digest: hashlib._Hash) -> None:
        self._hashes.append((path.relative_to(self._base), digest.hexdigest()))

    def _refuse(self, reason: str) -> NoReturn:
        raise UserError(f"{self._label}: {reason}")


def find_module_file(module: str) -> tuple[Path | None, str]:
    """Return the file of a module, without an import, and the module's name.

    Without such a file, it is that of the innermost package or module around it, if any.
    """
    here = str(Path.cwd())
    path = [entry or here for entry in sys.path]
    places = path if here in path else [here, *path]
    file, found, name = None, "", ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = _find_spec(name, places) if part else None
        if spec is None:
            break
        if spec.has_location and spec.origin:
            file, found = Path(spec.origin).absolute(), name
        if spec.submodule_search_locations is None:
            break
        places = [*spec.submodule_search_locations]
    return file, found


def _find_spec(name: str, places: list[str]) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name, places)
    if spec is None and "." not in name:  # the finders of editable installations
        specs = (finder.find_spec(name, None) for finder in sys.meta_path)
        return next((spec for spec in specs if spec), None)
    return spec
