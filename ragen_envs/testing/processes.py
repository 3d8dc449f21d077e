"""Recorded episodes, played again in new processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from ragen_envs.testing.episodes import PlayedEpisode
from ragen_envs.testing.failure import CheckSkipped, described, fail
from ragen_envs.testing.freeze import Parts
from ragen_envs.testing.modules import sent_along
from ragen_envs.testing.subject import Subject, portable

HASH_SEEDS = ("1", "31337")
"""The PYTHONHASHSEED of each process."""
_PATIENCE = 300.0
"""Seconds after which a process is given up."""
_CHILD = (
    "import pickle, sys\n"
    "with open(sys.argv[1], 'rb') as file:\n"
    "    sys.path[:] = pickle.load(file)\n"
    "    from ragen_envs.testing.worker import work\n"
    "    work(file, sys.argv[2])\n"
)


def played_elsewhere(
    subject: Subject, episodes: Sequence[PlayedEpisode]
) -> list[list[tuple[Parts, ...]]]:
    """Return what the answers of some episodes give in one process for each hash seed.

    Raises:
        CheckSkipped: if the factory cannot be sent to another process.
        CheckFailed: if a process fails, or takes more than five minutes.
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


def _result(path: Path, complaint: str) -> Any:
    if path.exists():
        return pickle.loads(path.read_bytes())
    last = (complaint.strip().splitlines() or ["it said nothing"])[-1]
    fail(
        f"a new process could not play the episodes: {last}",
        "the environment needs something that only this process has: a module that was never "
        "a file, an id registered by hand, or an open resource.",
        "make the environment in a function of an importable module.",
    )
