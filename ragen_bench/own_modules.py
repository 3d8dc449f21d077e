"""Modules of the user's own, which are imported because the user named them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ragen_bench.errors import UserError, described

FUNCTION_NAMED = "MODULE:FUNCTION, or a function from the top of a module"
"""How a function of the user's own can be given."""


def import_own(module: str, named: str, *, last: bool = False) -> ModuleType:
    """Return a module that the user named; the working directory is searched too.

    Args:
        module: its dotted name.
        named: what messages say of it.
        last: whether the working directory is searched after all else, so that no file in it takes
            the place of a package that is imported later.

    Raises:
        UserError: if it cannot be imported.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(len(sys.path) if last else 0, here)
    try:
        return import_module(module)
    # The module is the user's own code: importing it may raise anything, or leave the process.
    except (Exception, SystemExit) as error:
        raise UserError(f"{named} cannot be imported: {described(error)}") from error


def attribute_of(module: ModuleType, attribute: str, named: str) -> Any:
    """Return what a module of the user's own has under a name.

    Args:
        module: as `import_own` returns it.
        attribute: the name.
        named: what messages say of it.

    Raises:
        UserError: if it has nothing there.
    """
    try:
        return getattr(module, attribute)
    # A module may have a `__getattr__` of the user's own.
    except (Exception, SystemExit) as error:
        raise UserError(f"{named} cannot be imported: {described(error)}") from error


def name_of(own: Callable[..., Any], instead: str) -> str:
    """Return the MODULE:NAME by which a function or a class can be found again.

    Args:
        own: from the top of a module.
        instead: what else may be given, for the message.

    Raises:
        UserError: if it cannot be found by its name, as a lambda.
    """
    module, name = (getattr(own, of, None) for of in ("__module__", "__qualname__"))
    if not name or getattr(sys.modules.get(str(module)), name, None) is not own:
        raise UserError(f"{own!r} cannot be found by its name; give {instead}")
    return f"{module}:{name}"
