"""The user's own modules: import, source files, their hash for the record, where an error arose."""

from __future__ import annotations

import ast
import errno
import hashlib
import inspect
import os
import stat
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ragen_bench.errors import UserError, described

FUNCTION_FORMS = "MODULE:FUNCTION, or a function from the top of a module"
"""The forms in which a user's function can be given."""
_OURS = {"__main__", "ragen_bench", "ragen_envs", "ragen_starpo"}
_INSTALLED = {"site-packages", "dist-packages"}
_DIGITS = 16
_MOST_BYTES = 1 << 30
_CHUNK = 1 << 20

ModuleFile = tuple[str, Path | None]
"""A module's name, and its file if it has one."""


def import_user_module(module: str, label: str, *, search_last: bool = False) -> ModuleType:
    """Import a module that the user named, with the working directory on the path.

    With `search_last`, that is searched last, so that none of its files hides a package that is
    imported later. `label` names the module in messages; a UserError says that the import fails.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(len(sys.path) if search_last else 0, here)
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:  # the user's code may raise anything, or exit
        raise UserError(f"{label} cannot be imported: {described(error)}") from error


def read_attribute(module: ModuleType, attribute: str, label: str) -> Any:
    """Return an attribute of a user's module, or raise a UserError."""
    try:
        return getattr(module, attribute)
    except (Exception, SystemExit) as error:  # a module may define `__getattr__`
        raise UserError(f"{label} cannot be imported: {described(error)}") from error


def find_import_name(function: object, alternatives: str) -> str:
    """Return the MODULE:NAME from which a function or a class can be imported again."""
    module, name = (getattr(function, key, None) for key in ("__module__", "__qualname__"))
    if not name or getattr(sys.modules.get(str(module)), name, None) is not function:
        raise UserError(f"{function!r} cannot be found by its name; give {alternatives}")
    return f"{module}:{name}"


class SourceFiles:
    """A user's module and the loaded modules below the folder that holds it.

    For a module in a package, this is the folder of the outermost package. Installed modules,
    the standard library and this project are left out. Of an installed agent, the modules of
    its own package are covered.
    """

    def __init__(self, name: str, file: Path | None, loaded: Iterable[ModuleFile]) -> None:
        self.name = name
        self._top = name.partition(".")[0]
        self._root = _containing_folder(name, file)
        self.covered = [(other, path) for other, path in loaded if self._covers(other, path)]
        self.file = file
        # The module's own code may have removed it from sys.modules.
        self._files = sorted({path for path in [*(path for _, path in self.covered), file] if path})

    def identity(self) -> dict[str, str]:
        """Return a hash of the files' names and contents; nothing for a module without files."""
        return _hash_files(self._files, self._root) if self._root else {}

    def locate(self, error: BaseException) -> str:
        """Return file, line and function of the innermost frame in these files, or ""."""
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if Path(frame.filename).resolve() in self._files]
        if not inside or self._root is None:
            return ""
        file = _relative(Path(inside[-1].filename).resolve(), self._root)
        return f"{file}, line {inside[-1].lineno}, in {inside[-1].name}"

    def describe_error(self, name: str, error: BaseException, turn: str) -> UserError:
        """Return the one-line error for an exception that user code raised in a turn."""
        place = self.locate(error)
        where = f"{place}; {turn}" if place else turn
        return UserError(f"{name} raised {described(error)} ({where})", exit_code=1)

    def _covers(self, name: str, file: Path | None) -> bool:
        top = name.partition(".")[0]
        if file is None or self._root is None or top in _OURS:
            return False
        # The comparison of texts is quick, and few modules pass it.
        is_below = str(file).startswith(str(self._root)) and file.is_relative_to(self._root)
        return top == self._top or (is_below and not _is_installed(file))


def find_sources(module: ModuleType) -> SourceFiles:
    """Return the source files of a module that this process has imported."""
    return SourceFiles(module.__name__, file_of(module), list_loaded())


def list_loaded() -> list[ModuleFile]:
    """Return the names and files of the modules that this process has loaded."""
    return [(name, file_of(module)) for name, module in list(sys.modules.items())]


def hash_with_imports(module: ModuleType) -> dict[str, str]:
    """Return a hash of a module's file and of its imports from the folder that holds it.

    Imports are read from the source, so that the hash depends on the files alone and not on the
    loaded modules. The same modules are left out as by `SourceFiles`.
    """
    file = file_of(module)
    root = _containing_folder(module.__name__, file)
    if root is None or file is None:
        return {}
    return _hash_files(sorted(find_imports(file, root, module.__name__.partition(".")[0])), root)


def find_imports(first: Path, root: Path, top: str) -> set[Path]:
    """Return a file and the files below `root` that its `import` statements reach."""
    installed = _is_installed(first)
    reached: set[Path] = set()
    queue = [first]
    while queue:
        file = queue.pop()
        if file in reached:
            continue
        reached.add(file)
        for name in _imported_names(file, root):
            if name[0] == top or not (installed or name[0] in _OURS):
                queue += _module_files(name, root)
    return reached


def hash_source(function: object) -> dict[str, str]:
    """Return a hash of a function's or class's own source; empty if it has none."""
    try:
        source = inspect.getsource(function)  # type: ignore[arg-type]  # raises for other objects
    except (OSError, TypeError):
        return {}
    return hash_bytes(source.encode())


def hash_bytes(content: bytes) -> dict[str, str]:
    """Return the hash of code, for the record."""
    return {"source_sha256": hashlib.sha256(content).hexdigest()[:_DIGITS]}


def hash_lines(hashes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the hash of files, of which names and hashes are given; nothing for none."""
    lines = "".join(f"{name}\0{digest}\n" for name, digest in hashes)
    return hash_bytes(lines.encode(errors="surrogateescape")) if lines else {}


def read_regular(name: str, folder: int | None = None, most: int = _MOST_BYTES) -> Iterator[bytes]:
    """Yield the content of a regular file, by its name in an open folder, following no link.

    An OSError refuses anything else, more bytes than `most`, and a file of another length than
    it says, as those of /proc are.
    """
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", name)
    # Non-blocking, and checked again: the file may have become a pipe since.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(
        os.open(name, flags | getattr(os, "O_BINARY", 0), dir_fd=folder), "rb", 0
    ) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        left = status.st_size
        if left > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", name)
        while data := file.read(min(_CHUNK, left + 1)):
            left -= len(data)
            if left < 0:
                break
            yield data
        if left:
            raise OSError(errno.EINVAL, "it has another length than it says", name)


def _hash_files(files: Sequence[Path], root: Path) -> dict[str, str]:
    """Return the hash of files; an unreadable one raises a UserError."""
    hashes = []
    for file in files:
        digest = hashlib.sha256()
        try:
            for data in read_regular(str(file.resolve())):  # a link of the user's own
                digest.update(data)
        except OSError as error:
            raise UserError(f"{file} cannot be read: {error.strerror}") from None
        hashes.append((_relative(file, root), digest.hexdigest()))
    return hash_lines(hashes)


def _imported_names(file: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names, split at the dots, that a file imports anywhere in it."""
    try:
        tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):  # a file that was never imported
        return
    package = file.parent.relative_to(root).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*base, alias.name) for alias in node.names)


def _module_files(name: tuple[str, ...], root: Path) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it, below a folder."""
    for end in range(1, len(name) + 1):
        place = root.joinpath(*name[:end])
        files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
        yield from (file for file in files if file.is_file())


def file_of(module: ModuleType) -> Path | None:
    """Return the file of a module, if it has one."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return None
    # A relative path depends on the working directory, so it is not cached.
    path = _resolve(file) if file.startswith(os.sep) else Path(file).resolve()
    return path if path.is_file() else None


@lru_cache(maxsize=1 << 15)
def _resolve(file: str) -> Path:
    """Return a path without symbolic links.

    The result is cached, since a process may have loaded thousands of modules.
    """
    return Path(file).resolve()


def _containing_folder(name: str, file: Path | None) -> Path | None:
    """Return the folder of a module or, for one in a package, of its outermost package."""
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
