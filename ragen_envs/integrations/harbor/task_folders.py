"""Task folders of Harbor, one for each instance and noise seed."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from string import Template

from ragen_envs.core.folders import new_folder, write_text
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.integrations.harbor import game
from ragen_envs.integrations.harbor.server import write_task

_TEMPLATES = Path(__file__).parent / "templates"
_FILES = {
    "task.toml": "task.toml",
    "instruction.md": "instruction.md",
    "agent.Dockerfile": "environment/Dockerfile",
    "docker-compose.yaml": "environment/docker-compose.yaml",
    "server.Dockerfile": "environment/server/Dockerfile",
    "tests.Dockerfile": "tests/Dockerfile",
    "test.sh": "tests/test.sh",
}
"""Path of each template in a task folder."""


def write_task_folders(
    folder: Path, tasks: Sequence[Task], requirements: Sequence[str] = ()
) -> int:
    """Write a folder for each task of one environment and split, and return their number.

    The images of the game and of the verifier install this release of ragen-bench and the
    requirements; one that begins with ragen-bench replaces the release. The oracle's responses are
    the reference solution; environments of other packages have none.

    Raises:
        ValueError: The environment cannot be made, an instance is out of range, the folder is not
            empty, or the split needs a key.
    """
    first = tasks[0]
    if first.split not in ("train", "val", "test"):
        raise ValueError(
            f"the {first.split} split needs a key, which has no place in an image; "
            "choose train, val or test"
        )
    episode = Episode(first.env, first.split, first.response_format)
    last, size = max(task.seed for task in tasks), episode.instances
    if size is not None and last >= size:
        raise ValueError(
            f"the {first.split} split of {first.env} has {size} instances, 0 to {size - 1}; "
            f"instance {last} is out of range"
        )
    named = [each for each in requirements if each.startswith("ragen-bench")]
    own = () if named else (f"ragen-bench=={version('ragen-bench')}",)
    pip = shlex.join((*own, *requirements))
    with new_folder(folder) as draft:
        for task in tasks:
            _write_task_folder(draft / task_name(task), task, episode, pip)
    episode.close()
    return len(tasks)


def task_name(task: Task) -> str:
    """Return the name of a task's folder, such as sokoban-v0-test-0003-noise-0."""
    bare = task.env.rpartition(":")[2].rpartition("/")[2].lower()
    return f"{bare}-{task.split}-{task.seed:04}-noise-{task.noise_seed}"


def _write_task_folder(folder: Path, task: Task, episode: Episode, requirements: str) -> None:
    values = {
        "name": task_name(task),
        "version": version("ragen-bench"),
        "env": task.env,
        "split": task.split,
        "seed": task.seed,
        "noise_seed": task.noise_seed,
        "response_format": task.response_format,
        "text": episode.reset(task.seed, task.noise_seed),
        "requirements": requirements,
    }
    for template, path in _FILES.items():
        text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
        write_text(folder / path, text.substitute(values))
    for path in ("environment/server/task.json", "tests/task.json"):
        write_text(folder / path, write_task(task))
    shutil.copyfile(game.__file__, folder / "environment" / "game.py")
    if isinstance(episode.env.unwrapped, TextEnv):
        write_text(folder / "solution" / "solve.sh", _solve(episode))
    for script in folder.glob("*/*.sh"):
        script.chmod(0o755)


def _solve(episode: Episode) -> str:
    """Return a script that plays the oracle's responses to the end of an episode."""
    lines = ["#!/bin/sh", "set -e"]
    while not episode.done:
        response = episode.oracle()
        lines.append(shlex.join(("game", response)))
        episode.step(response)
    return "\n".join(lines) + "\n"
