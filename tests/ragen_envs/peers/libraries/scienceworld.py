"""Three of ScienceWorld's tasks, through this package's adapter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragen_envs.testing import Subject
from tests.ragen_envs.peers.told import adapted

PACKAGE = "scienceworld"
NAMES = ("lifespan-longest-lived", "power-component", "find-plant")
COMMANDS = ("look around", "inventory", "wait1", "open door to hallway", "go to hallway")
"""Actions in form, a few of the hundreds that are valid, since listing those takes a second."""
SUBJECTS: dict[str, Callable[[], Subject]] = {
    name: partial(adapted, f"scienceworld:{name}", answers=COMMANDS, split_seeds=8)
    for name in NAMES
}
