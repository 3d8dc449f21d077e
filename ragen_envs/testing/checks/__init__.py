"""The table of checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ragen_envs.testing.checks import (
    api,
    copies,
    determinism,
    episode,
    isolation,
    oracle,
    splits,
)
from ragen_envs.testing.options import BUILDS_ON
from ragen_envs.testing.subject import Subject


class Check(NamedTuple):
    """A check and its prerequisites.

    Attributes:
        function: The check; raises `CheckFailed` or `CheckSkipped`.
        after: Names of its prerequisites; the kit skips the check if one of them failed.
    """

    function: Callable[[Subject], None]
    after: tuple[str, ...]


_MODULES = (api, copies, determinism, episode, isolation, oracle, splits)
_PREFIX = "check_"

CHECKS = {
    name: Check(vars(module)[_PREFIX + name], after)
    for name, after in BUILDS_ON.items()
    for module in _MODULES
    if _PREFIX + name in vars(module)
}
"""The checks by their names; each is the function `check_NAME` of a module of this package."""
