"""An environment of this suite as OpenEnv sees it: the folder of its image, and a session."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import format_answer

_PLAYED = 8
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl")
_SECRETS = ("ceiling", "optimal_length", "instance", "index")
"""Figures of `info` that tell the instance, or how well it can be solved."""


@dataclass(frozen=True)
class Package:
    """The folder that `ragen-envs package ID --openenv` writes.

    Attributes:
        manifest: OpenEnv's own status of the check of the manifest, with its evidence.
        declared: the manifest as OpenEnv reads it.
        dockerfile: its lines.
        requirements: what the image installs.
        archives: files in it that are archives.
    """

    manifest: tuple[str, str]
    declared: dict[str, Any]
    dockerfile: tuple[str, ...]
    requirements: tuple[str, ...]
    archives: tuple[str, ...]


@dataclass(frozen=True)
class Session:
    """What a session of OpenEnv's server did in some episodes of the random player.

    Attributes:
        episodes: that were played.
        steps: of all of them.
        problems: of the state: another episode's name, or another count of steps; a line each.
        told: the names of all figures that observations and states told.
        secrets: those of them that a player may not know.
    """

    episodes: int
    steps: int
    problems: tuple[str, ...]
    told: tuple[str, ...]
    secrets: tuple[str, ...]


def look_at_package(env: str) -> Package:
    """Write the folder, read it, and have OpenEnv check its manifest.

    Args:
        env: the full id.
    """
    from openenv.validation import Level, run_validation

    from ragen_envs.integrations.openenv.package import write_package
    from ragen_envs.integrations.openenv.served import Served

    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "package"
        write_package(folder, Served.of(env))
        report = run_validation(folder, max_level=Level.STATIC, skip_build=True)
        checked = next(row for row in report.results if row.check_id == "static.manifest")
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return Package(
            manifest=(checked.status.value, "; ".join(checked.evidence)),
            declared=report.model_dump(mode="json")["manifest"],
            dockerfile=tuple((folder / "Dockerfile").read_text(encoding="utf-8").splitlines()),
            requirements=tuple(project["project"]["dependencies"]),
            archives=tuple(path.name for path in files if path.suffix in _ARCHIVES),
        )


def look_at_session(env: str) -> Session:
    """Play some episodes in a session, and compare its state after each step.

    Args:
        env: the full id.
    """
    from ragen_envs.integrations.openenv.environment import TextEnvironment
    from ragen_envs.integrations.openenv.messages import TextAction
    from ragen_envs.integrations.openenv.served import Served

    served = Served.of(env)
    session, stream = TextEnvironment(served), RandomStream("certificate", "session")
    problems: list[str] = []
    told: set[str] = set()
    steps = 0
    for seed in range(_PLAYED):
        name = f"certificate-{seed}"
        observation = session.reset(seed=seed, episode_id=name)
        count = 0
        while True:
            state = session.state
            told |= {*observation.info, *observation.metadata, *state.model_dump()}
            if (state.episode_id, state.step_count) != (name, count):
                problems.append(f"seed {seed}: {state.episode_id} at step {state.step_count}")
            if observation.done:
                break
            legal = observation.info["legal_actions"]
            answer = format_answer([legal[stream.below(len(legal))]], served.response_format)
            observation = session.step(TextAction(message=answer))
            count += 1
        steps += count
    session.close()
    secrets = tuple(name for name in _SECRETS if name in told)
    return Session(_PLAYED, steps, tuple(problems), tuple(sorted(told)), secrets)
