"""The files of an agent, found without importing it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.models.agents.own_sources import imported_files


def agent_files(module: str, named: str) -> tuple[Path, ...]:
    """Return what an isolated agent may read of the folder that holds it.

    That is the outermost package that holds its module, as a whole, or else its file; and what
    these import from the same folder, as far as `import` statements name it.

    Args:
        module: its dotted name.
        named: what messages say of it.

    Returns:
        Absolute paths of files and folders; none for a module that is not in a file or is not
        found, which is left to those who import it.

    Raises:
        UserError: if one of them is a link, which may lead to anything.
    """
    first, *inner = module.split(".")
    here = str(Path.cwd())
    path = [entry or here for entry in sys.path]
    top = spec = _found(first, path if here in path else [here, *path])
    for end in range(len(inner)):
        if spec is not None and spec.submodule_search_locations is not None:
            name = ".".join([first, *inner[: end + 1]])
            spec = _found(name, [*spec.submodule_search_locations])
    packages = {Path(place).absolute() for place in _folders(top)}
    files = {file for one in (top, spec) if (file := _file(one))}
    if not packages | files:
        return ()
    root = min(packages or files).parent
    found = packages.union(files, *(imported_files(file, root, first) for file in files))
    outermost = sorted(path for path in found if not packages & set(path.parents))
    for each in outermost:
        if each.is_relative_to(root) and each.resolve() != root.resolve() / each.relative_to(root):
            raise UserError(f"{named}: {each} leads elsewhere; an isolated agent's files do not")
    return tuple(outermost)


def _found(name: str, path: list[str]) -> ModuleSpec | None:
    return PathFinder.find_spec(name, path) if all(name.split(".")) else None


def _folders(spec: ModuleSpec | None) -> Iterable[str]:
    return (spec.submodule_search_locations or ()) if spec else ()


def _file(spec: ModuleSpec | None) -> Path | None:
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    return Path(spec.origin).absolute()
