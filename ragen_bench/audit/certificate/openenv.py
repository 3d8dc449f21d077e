"""Evidence from OpenEnv about one of the suite's environments: image folder and session."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import format_answer

_EPISODES = 8
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl")
_SECRETS = ("ceiling", "optimal_length", "instance", "index")
"""Values of `info` that reveal the instance or its optimal score."""


@dataclass(frozen=True)
class Package:
    """Folder that `ragen-envs package ID --openenv` writes.

    Attributes:
        manifest: Status and evidence of OpenEnv's check of the manifest.
        declared: Manifest as read by OpenEnv.
        dockerfile: Lines of the Dockerfile.
        requirements: Requirements that the image installs.
        archives: Names of archive files in the folder.
    """

    manifest: tuple[str, str]
    declared: dict[str, Any]
    dockerfile: tuple[str, ...]
    requirements: tuple[str, ...]
    archives: tuple[str, ...]


@dataclass(frozen=True)
class Session:
    """Results of the random player's episodes in a session of OpenEnv's server.

    Attributes:
        episodes: Number of episodes.
        steps: Number of steps in all episodes.
        problems: One line for each state with a wrong episode id or step count.
        fields: Names of all values in observations and states.
        secrets: Fields that a player must not see.
    """

    episodes: int
    steps: int
    problems: tuple[str, ...]
    fields: tuple[str, ...]
    secrets: tuple[str, ...]


def inspect_package(env: str) -> Package:
    """Write and read the folder, and let OpenEnv check its manifest.

    Args:
        env: The full id.
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


def inspect_session(env: str) -> Session:
    """Play episodes in a session and check its state after each step.

    Args:
        env: The full id.
    """
    from ragen_envs.integrations.openenv.environment import TextEnvironment
    from ragen_envs.integrations.openenv.messages import TextAction
    from ragen_envs.integrations.openenv.served import Served

    served = Served.of(env)
    session, stream = TextEnvironment(served), RandomStream("certificate", "session")
    problems: list[str] = []
    fields: set[str] = set()
    steps = 0
    for seed in range(_EPISODES):
        name = f"certificate-{seed}"
        observation = session.reset(seed=seed, episode_id=name)
        count = 0
        while True:
            state = session.state
            fields |= {*observation.info, *observation.metadata, *state.model_dump()}
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
    secrets = tuple(name for name in _SECRETS if name in fields)
    return Session(_EPISODES, steps, tuple(problems), tuple(sorted(fields)), secrets)
