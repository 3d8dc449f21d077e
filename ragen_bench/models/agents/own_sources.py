"""A user's own source files: their hash for the record, and where in them an error arose."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

_OURS = {"__main__", "ragen_bench", "ragen_envs", "ragen_starpo"}
_INSTALLED = {"site-packages", "dist-packages"}
_DIGITS = 16

Loaded = tuple[str, Path | None]
"""A module's name, and its file if it has one."""


class OwnSources:
    """The files of a module and of what is loaded from below the folder that holds it.

    For a module in a package it is the folder of the outermost package. What is installed, the
    standard library and this project are left out; of an agent that is installed itself, the
    modules of its own package are covered.

    Args:
        name: the module's.
        file: the module's, if it has one.
        loaded: the names and files of what is loaded.
    """

    def __init__(self, name: str, file: Path | None, loaded: Iterable[Loaded]) -> None:
        self.name = name
        self._top = name.partition(".")[0]
        self._root = _folder_of(name, file)
        self.covered = [(other, path) for other, path in loaded if self._covers(other, path)]
        self.file = file
        # The module itself may have been taken out of the table by its own code.
        self._files = sorted({path for path in [*(path for _, path in self.covered), file] if path})

    def identity(self) -> dict[str, str]:
        """Return a hash of the files' names and contents; nothing if there is none, as of `sys`."""
        return _hash_of(self._files, self._root) if self._root else {}

    def place_of(self, error: BaseException) -> str:
        """Return file, line and function of the innermost frame of this code, or ""."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).resolve() in self._files]
        if not own or self._root is None:
            return ""
        file = _relative(Path(own[-1].filename).resolve(), self._root)
        return f"{file}, line {own[-1].lineno}, in {own[-1].name}"

    def _covers(self, name: str, file: Path | None) -> bool:
        top = name.partition(".")[0]
        if file is None or self._root is None or top in _OURS:
            return False
        return top == self._top or (file.is_relative_to(self._root) and not _is_installed(file))


def sources_of(module: ModuleType) -> OwnSources:
    """Return the files of a module that is imported in this process."""
    return OwnSources(module.__name__, _file_of(module), loaded_files())


def imports_identity(module: ModuleType) -> dict[str, str]:
    """Return a hash of a module's file and of what it imports from the folder that holds it.

    The imports are read in the sources, so the hash follows from the files alone, whatever is
    loaded. This project is left out; of a module that is installed itself, the modules of its own
    package are covered.

    Args:
        module: imported.
    """
    first = _file_of(module)
    root = _folder_of(module.__name__, first)
    if root is None or first is None:
        return {}
    return _hash_of(sorted(imported_files(first, root, module.__name__.partition(".")[0])), root)


def imported_files(first: Path, root: Path, top: str) -> set[Path]:
    """Return a file and what it imports from a folder, as its `import` statements say.

    Args:
        first: the file.
        root: the folder.
        top: the outermost package of the file's module, or the module.
    """
    installed = _is_installed(first)
    reached: set[Path] = set()
    left = [first]
    while left:
        file = left.pop()
        if file in reached:
            continue
        reached.add(file)
        for name in _imported(file, root):
            if name[0] == top or not (installed or name[0] in _OURS):
                left += _files_of(name, root)
    return reached


def loaded_files() -> list[Loaded]:
    """Return the names and the files of the modules that this process has loaded."""
    return [(name, _file_of(module)) for name, module in list(sys.modules.items())]


def typed_identity(own: object) -> dict[str, str]:
    """Return a hash of the source of a function or a class that was typed, as into a notebook.

    It covers nothing else that was typed there; where Python has no source, there is none.
    """
    try:
        source = inspect.getsource(own)  # type: ignore[arg-type]  # it raises for other objects
    except (OSError, TypeError):
        return {}
    return {"source_sha256": hashlib.sha256(source.encode()).hexdigest()[:_DIGITS]}


def _hash_of(files: Sequence[Path], root: Path) -> dict[str, str]:
    """Return a hash of names and contents; nothing if there is no file."""
    if not files:
        return {}
    total = hashlib.sha256()
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{_relative(file, root)}\0{content}\n".encode())
    return {"source_sha256": total.hexdigest()[:_DIGITS]}


def _imported(file: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """Yield the names that a file imports anywhere in it, and their packages, in parts."""
    try:
        tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):  # of a file that nothing has imported yet
        return
    package = file.parent.relative_to(root).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*base, alias.name) for alias in node.names)


def _files_of(name: tuple[str, ...], root: Path) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it that are below a folder."""
    for end in range(1, len(name) + 1):
        place = root.joinpath(*name[:end])
        files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
        yield from (file for file in files if file.is_file())


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if isinstance(file, str) else None
    return path if path and path.is_file() else None


def _folder_of(name: str, file: Path | None) -> Path | None:
    """Return the folder that holds a module or, of one in a package, its outermost package."""
    if file is None:
        return None
    levels = name.count(".") + (file.stem == "__init__")
    return file.parents[levels]


def _is_installed(file: Path) -> bool:
    library = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return bool(_INSTALLED & set(file.parts)) or any(
        file.is_relative_to(Path(path).resolve()) for path in library
    )


def _relative(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
