"""What an environment does to the machine while it is played: network, files and processes."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragen_envs.testing import HOSTILE, CheckFailed, Subject
from ragen_envs.testing.failure import EnvironmentRaised
from ragen_envs.testing.player import Player, finish

_NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.")
_PROCESSES = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn")
_FILES = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "shutil.", "tempfile."),
)
_LONGEST = 10_000
"""Hostile texts up to this length are answered; the kit has the longer ones."""


@dataclass(frozen=True)
class Touched:
    """Events of Python's audit hooks while episodes were played, each kind once.

    Attributes:
        episodes: that were played.
        network: sockets and requests.
        machine: processes, and files that were written, moved or removed.
    """

    episodes: int
    network: tuple[str, ...]
    machine: tuple[str, ...]


@dataclass
class _Watch:
    """The events of one thread; hooks cannot be removed, so one is added once and switched."""

    thread: int | None = None
    added: bool = False
    network: set[str] = field(default_factory=set)
    machine: set[str] = field(default_factory=set)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() != self.thread:
            return
        if event.startswith(_NETWORK):
            self.network.add(event)
        elif event.startswith((*_PROCESSES, *_FILES)) or _writes(event, arguments):
            self.machine.add(event)


_WATCH = _Watch()


def touched(subject: Subject) -> Touched:
    """Play the kit's seeds with answers in form and with hostile ones, and watch.

    What is imported or read from files when it is first needed is not counted: an episode of each
    seed is played before. What compiled code does past Python is not seen.

    Args:
        subject: the environment.
    """
    if not _WATCH.added:
        sys.addaudithook(_WATCH.hook)
        _WATCH.added = True
    hostile = [text for text in HOSTILE.values() if len(text) <= _LONGEST]
    with Player(subject.make_env) as player:
        _play(subject, player, hostile)
        _WATCH.network, _WATCH.machine = set(), set()
        _WATCH.thread = threading.get_ident()
        try:
            episodes = _play(subject, player, hostile)
        finally:
            _WATCH.thread = None
    return Touched(episodes, tuple(sorted(_WATCH.network)), tuple(sorted(_WATCH.machine)))


def _play(subject: Subject, player: Player, hostile: list[str]) -> int:
    for seed in subject.seeds:
        player.reset(seed)
        finish(subject, player)
    for text in hostile:
        player.reset(subject.seeds[0])
        try:
            finish(subject, player, partial(_say, text))
        except (EnvironmentRaised, CheckFailed):
            continue  # the kit's check of hostile text tells
    return len(subject.seeds) + len(hostile)


def _say(text: str, _player: Player) -> str:
    return text


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return False
    mode = arguments[1]
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")
