"""TextWorld's challenges, through this package's adapter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragen_envs.testing import Subject
from tests.ragen_envs.peers.told import adapted

PACKAGE = "textworld"
NAMES = ("coin_collector", "treasure_hunter", "cooking")
SUBJECTS: dict[str, Callable[[], Subject]] = {
    name: partial(adapted, f"textworld:{name}", split_seeds=2, skip=("gymnasium_checker",))
    for name in NAMES
}
"""The checker takes a warning of Jericho, of each game that it was not made for, for a failure."""
