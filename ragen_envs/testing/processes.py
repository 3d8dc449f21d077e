"""Recorded episodes, played again in new processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import IO

import cloudpickle  # type: ignore[import-untyped]

from ragen_envs.testing.episodes import Parts, PlayedEpisode
from ragen_envs.testing.failure import CheckSkipped, described, fail
from ragen_envs.testing.player import Player, replay
from ragen_envs.testing.subject import Subject, portable

HASH_SEEDS = ("1", "31337")
"""PYTHONHASHSEED of each process."""
_PATIENCE = 300.0
"""Timeout of a process in seconds."""
_CHILD = (
    "import pickle, sys\n"
    "with open(sys.argv[1], 'rb') as file:\n"
    "    sys.path[:] = pickle.load(file)\n"
    "    from ragen_envs.testing.processes import work\n"
    "    work(file, sys.argv[2])\n"
)


def played_elsewhere(
    subject: Subject, episodes: Sequence[PlayedEpisode]
) -> list[list[tuple[Parts, ...]]]:
    """Replay episodes in one new process for each hash seed, and return their parts.

    CheckSkipped if the factory cannot be sent, CheckFailed if a process fails or is too slow.
    """
    seeds_and_answers = [(e.seed, e.options, e.answers) for e in episodes]
    try:
        with sent_along():
            payload = cloudpickle.dumps((portable(subject.make_env), seeds_and_answers))
    except Exception as error:
        raise CheckSkipped(
            f"make_env cannot be sent to another process ({described(error)}): pass a function "
            "of a module, or an id"
        ) from error
    with TemporaryDirectory() as folder:
        job = Path(folder, "job")
        job.write_bytes(pickle.dumps(sys.path) + payload)
        started = [_start(job, Path(folder, seed), seed) for seed in HASH_SEEDS]
        try:
            complaints = [process.communicate(timeout=_PATIENCE)[1] for process in started]
        except subprocess.TimeoutExpired:
            fail(
                f"a new process did not play the episodes within {_PATIENCE:.0f} seconds",
                "the environment waits for input or for a resource that this process holds.",
                "make it usable by several processes at a time.",
            )
        finally:
            for process in started:
                process.kill()
                process.wait()
        return [
            _result(Path(folder, seed), complaint)
            for seed, complaint in zip(HASH_SEEDS, complaints, strict=True)
        ]


def _start(job: Path, result: Path, hash_seed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(job), str(result)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _result(path: Path, complaint: str) -> list[tuple[Parts, ...]]:
    if path.exists():
        played: list[tuple[Parts, ...]] = pickle.loads(path.read_bytes())
        return played
    last = (complaint.strip().splitlines() or ["it said nothing"])[-1]
    fail(
        f"a new process could not play the episodes: {last}",
        "the environment needs something that only this process has: a module that was never "
        "a file, an id registered by hand, or an open resource.",
        "make the environment in a function of an importable module.",
    )


_STANDARD = sysconfig.get_path("stdlib")
"""Holds collections.abc of Python 3.13, a file of another name, which comes with `collections`."""


@contextmanager
def sent_along() -> Iterator[None]:
    """Let cloudpickle send the modules that a new process cannot import by value."""
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
    """Return the imported modules that have a Python file to which their name does not lead."""
    folders = {str(Path(entry).absolute()) for entry in sys.path}
    return [
        module
        for name, module in [*sys.modules.items()]
        if getattr(module, "__name__", None) == name != "__main__"
        and (path := getattr(module, "__file__", None) or "").endswith(".py")
        and _folder(name, path) not in folders
        and str((file := Path(path)).parent) != _STANDARD
        and file.is_file()
        and not _leads_to(name, file)
    ]


@lru_cache(maxsize=1 << 15)
def _folder(name: str, path: str) -> str | None:
    """Return the folder of `sys.path` in which the file is where its name says, if it is.

    The result is cached, since a process may have loaded thousands of modules.
    """
    file = Path(path)
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
        asked = (
            finder.find_spec(".".join(parts[:count]), path)
            for finder in sys.meta_path
            if hasattr(finder, "find_spec")
        )
        spec = next(filter(None, asked), None)
        if spec is None or (count < len(parts) and spec.submodule_search_locations is None):
            return False
        path = spec.submodule_search_locations
    return spec is not None and Path(spec.origin or "").resolve() == file.resolve()


def work(job: IO[bytes], result: str) -> None:
    """Read a factory and episodes, play each on a new environment, and write their parts."""
    factory, episodes = cloudpickle.load(job)
    played = []
    for seed, options, answers in episodes:
        with Player(factory) as player:
            played.append(replay(player, PlayedEpisode(seed, options, answers, ())).parts)
    Path(result).write_bytes(pickle.dumps(played))
