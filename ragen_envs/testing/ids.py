"""Look-up of the ids that the kit is given, and of the modules that register them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import gymnasium
from gymnasium.envs.registration import find_highest_version, parse_env_id

from ragen_envs.testing.failure import described
from ragen_envs.testing.subject import Subject


def require_ids(subject: Subject) -> None:
    """Import the modules that the subject's ids name, and look the ids up.

    Raises:
        ValueError: for a module that cannot be imported, or an id that nothing registers.
    """
    factories = {"make_env": subject.make_env}
    factories |= {f"splits[{split!r}]": make for split, make in subject.splits.items()}
    for option, factory in factories.items():
        if isinstance(factory, str):
            _require(option, factory)


def _require(option: str, named: str) -> None:
    module, _, env_id = named.rpartition(":")
    if module and not _is_there(module):
        raise ValueError(
            f"{option} is {named!r}, and there is no module {module!r} to import: before the colon "
            "stands the module that registers the id, as in 'my_pkg:my/Env-v0'"
        )
    try:
        if module:
            import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"{option} is {named!r}, and importing {module!r} raised {described(error)}"
        ) from error
    try:
        namespace, name, version = parse_env_id(env_id)
        if version is None and find_highest_version(namespace, name) is not None:
            return  # Gymnasium takes the latest
        gymnasium.spec(env_id)
    except gymnasium.error.Error as error:
        also = "" if module else f"; 'MODULE:{env_id}' imports the module that registers it first"
        raise ValueError(f"{option} is {named!r}: {_first_line(error)}{also}") from None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # a parent is missing, or the name is not a module's
        return False


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
