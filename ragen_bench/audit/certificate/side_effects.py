"""Side effects of an environment's episodes: network, files and processes."""

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
_MAX_LENGTH = 10_000
"""Maximum length of hostile texts here; the testing kit has longer ones."""


@dataclass(frozen=True)
class SideEffects:
    """Distinct events of Python's audit hooks during episodes.

    Attributes:
        episodes: Number of episodes.
        network: Events of sockets and requests.
        machine: Events of processes and of files written, moved or removed.
    """

    episodes: int
    network: tuple[str, ...]
    machine: tuple[str, ...]


@dataclass
class _Recorder:
    """Records the events of one thread; switched on and off, as hooks cannot be removed."""

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


_RECORDER = _Recorder()


def find_side_effects(subject: Subject) -> SideEffects:
    """Play the kit's seeds with valid and hostile responses, recording audit events.

    A first pass plays all episodes without recording, since lazy imports read files. Audit hooks
    do not see compiled code that bypasses Python.

    Args:
        subject: The environment.
    """
    if not _RECORDER.added:
        sys.addaudithook(_RECORDER.hook)
        _RECORDER.added = True
    hostile = [text for text in HOSTILE.values() if len(text) <= _MAX_LENGTH]
    with Player(subject.make_env) as player:
        _play(subject, player, hostile)
        _RECORDER.network, _RECORDER.machine = set(), set()
        _RECORDER.thread = threading.get_ident()
        try:
            episodes = _play(subject, player, hostile)
        finally:
            _RECORDER.thread = None
    return SideEffects(episodes, tuple(sorted(_RECORDER.network)), tuple(sorted(_RECORDER.machine)))


def _play(subject: Subject, player: Player, hostile: list[str]) -> int:
    for seed in subject.seeds:
        player.reset(seed)
        finish(subject, player)
    for text in hostile:
        player.reset(subject.seeds[0])
        try:
            finish(subject, player, partial(_say, text))
        except (EnvironmentRaised, CheckFailed):
            continue  # reported by the kit's check of hostile text
    return len(subject.seeds) + len(hostile)


def _say(text: str, _player: Player) -> str:
    return text


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return False
    mode = arguments[1]
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")
