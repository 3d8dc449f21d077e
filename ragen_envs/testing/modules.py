"""Modules that a new process could not import, sent along by value."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import cloudpickle  # type: ignore[import-untyped]

_STANDARD = sysconfig.get_path("stdlib")
"""Holds collections.abc of Python 3.13, a file of another name, which comes with `collections`."""


@contextmanager
def sent_along() -> Iterator[None]:
    """Let cloudpickle write out the classes and functions of modules that `unimportable` lists."""
    known = cloudpickle.list_registry_pickle_by_value()
    sent = [module for module in unimportable() if module.__name__ not in known]
    for module in sent:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in sent:
            cloudpickle.unregister_pickle_by_value(module)


def unimportable() -> list[ModuleType]:
    """Return the modules that have a Python file, to which their name does not lead.

    Those that never had one are not among them: they stay a name, and fail in a new process.
    """
    folders = {str(Path(entry).absolute()) for entry in sys.path}
    return [
        module
        for name, module in [*sys.modules.items()]
        if getattr(module, "__name__", None) == name != "__main__"
        and (file := Path(getattr(module, "__file__", None) or "")).suffix == ".py"
        and _folder(name, file) not in folders
        and str(file.parent) != _STANDARD
        and file.is_file()
        and not _leads_to(name, file)
    ]


def _folder(name: str, file: Path) -> str | None:
    """Return the folder of `sys.path` in which the file is where its name says, if it is."""
    parts = (*file.parent.parts, file.name.partition(".")[0])
    if parts[-1] == "__init__":
        parts = parts[:-1]
    count = name.count(".") + 1
    return str(Path(*parts[:-count])) if ".".join(parts[-count:]) == name else None


def _leads_to(name: str, file: Path) -> bool:
    """Whether the finders, asked as a new process would ask them, find this file."""
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:count]), path)
        if spec is None or (count < len(parts) and spec.submodule_search_locations is None):
            return False
        path = spec.submodule_search_locations
    return spec is not None and Path(spec.origin or "").resolve() == file.resolve()


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None
