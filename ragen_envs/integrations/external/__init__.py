"""Environments of other packages by id, such as "textworld:treasure_hunter".

`register` makes an id of the form PACKAGE:NAME known to Gymnasium. Each package is an extra. Its
own code makes the instances, plays and scores them; this folder adds episodes, splits and `info`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import gymnasium

from ragen_envs.core import extras


@dataclass(frozen=True)
class Package:
    """A package with environments.

    Attributes:
        name: First part of its ids, and of the module in this folder.
        import_name: Module that the package installs.
        extra: Extra of this distribution that installs it, and the package's name on PyPI.
        tested: The version that this folder was tested with.
        max_turns: Maximum number of responses in an episode.
    """

    name: str
    import_name: str
    extra: str
    tested: str
    max_turns: int

    @property
    def module(self) -> str:
        """Module of this folder that has the function `list_names` and the class `Env`."""
        return f"{__name__}.{self.name.replace('-', '_')}"


PACKAGES = {
    package.name: package
    for package in (
        Package("alfworld", "alfworld", "alfworld", "0.4.2", 50),
        Package("reasoning-gym", "reasoning_gym", "reasoning-gym", "0.1.23", 1),
        Package("scienceworld", "scienceworld", "scienceworld", "1.2.3", 100),
        Package("textworld", "textworld", "textworld", "1.7.0", 50),
    )
}


def find_package(env_id: str) -> Package | None:
    """Return the package of an id; None for ids of another form, such as MODULE:NAMESPACE/ID."""
    name, colon, rest = env_id.partition(":")
    return PACKAGES.get(name) if colon and "/" not in rest else None


def register(env_id: str) -> str:
    """Register an id in Gymnasium, and return the id there, such as "textworld/cooking".

    Raises:
        ImportError: The package is not installed; the message names its extra.
        ValueError: The package has no environment of this name; the message suggests one.
    """
    package = find_package(env_id)
    if package is None:
        raise ValueError(f"{env_id!r} does not begin with {', '.join(f'{p}:' for p in PACKAGES)}")
    with extras.required(f"{package.name}:", package.import_name, package.extra):
        import_module(package.import_name)
    module = import_module(package.module)
    name = env_id.partition(":")[2]
    names: tuple[str, ...] = module.list_names()
    if name not in names:
        near = get_close_matches(name.lower(), names, n=1)
        some = ", ".join((*names[:8], *(["..."] if len(names) > 8 else [])))
        hint = f"did you mean {package.name}:{near[0]}?" if near else f"it has {some}"
        raise ValueError(f"{package.name} has no environment {name!r}; {hint}")
    registered = f"{package.name}/{name}"
    if registered not in gymnasium.registry:
        gymnasium.register(
            registered,
            f"{package.module}:Env",
            kwargs={"name": name},
            max_episode_steps=package.max_turns,
            order_enforce=False,
            disable_env_checker=True,
        )
    return registered


def make(env_id: str, split: str = "train") -> gymnasium.Env[str, str]:
    """Return a new environment of a split: "train", "val" or "test"."""
    return gymnasium.make(register(env_id), split=split)


def describe_version(package: Package) -> str:
    """Return a line with the installed and the tested version where they differ, else ""."""
    try:
        installed = version(package.extra)
    except PackageNotFoundError:  # its module lies on the path without metadata
        installed = "of an unknown version"
    if installed == package.tested:
        return ""
    return (
        f"{package.name} is {installed}, tested with {package.tested}: instances and scores may "
        f"differ; pip install '{package.extra}=={package.tested}'"
    )
