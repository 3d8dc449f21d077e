"""The folder that `openenv` validates, builds an image of and publishes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from string import Template

from ragen_envs.core.folders import new_folder, write_text
from ragen_envs.integrations.bridging import Episode
from ragen_envs.integrations.openenv.served import Served
from ragen_envs.registration import find_game, is_registered

_TEMPLATES = Path(__file__).parent / "templates"
_FILES = {
    "openenv.yaml": "openenv.yaml",
    "Dockerfile": "Dockerfile",
    "pyproject.toml": "pyproject.toml",
    "app.py": "server/app.py",
}
"""Path of each template in the package."""


def write_package(
    folder: Path,
    served: Served,
    *,
    requirements: Sequence[str] = (),
    wheel: Path | None = None,
    reward_range: Sequence[float] | None = None,
) -> None:
    """Write openenv.yaml, a Dockerfile, the server, its requirements and a plan for its check.

    The image installs this distribution's wheel, which is copied, or without one the release, and
    the other requirements. The reward range of a step is by default the registered one of a game.

    Raises:
        ValueError: The folder is not empty, the sealed split is to be served, whose key has
            no place in an image, or the reward range is unknown.
    """
    if "sealed" in served.sizes:
        raise ValueError("the sealed split needs the host's key, which has no place in an image")
    low, high = reward_range or _find_reward_range(served.env)
    if not low < high:
        raise ValueError(f"the reward range goes from low to high, got {low:g} to {high:g}")
    own = f"ragen-bench[openenv]=={version('ragen-bench')}"
    if wheel is not None:
        own = f"ragen-bench[openenv] @ file:///app/{wheel.name}"
    values = {
        "env": served.env,
        "name": served.name,
        "version": version("ragen-bench"),
        "splits": repr(tuple(served.sizes)),
        "tasks": json.dumps(dict(served.sizes)),
        "response_format": served.response_format,
        "low": low,
        "high": high,
        "requirements": json.dumps([own, "openenv>=0.10,<0.11", *requirements]),
    }
    plan = {  # an episode that OpenEnv's runtime check plays
        "plan_schema_version": "1",
        "reset": {"episode_id": "check", "seed": 0, "options": {"split": served.default}},
        "actions": [{"message": answer} for answer in _answers(served)],
    }
    with new_folder(folder) as draft:
        if wheel is not None:
            shutil.copy(wheel, draft)
        for template, path in _FILES.items():
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
            write_text(draft / path, text.substitute(values))
        write_text(draft / "validation" / "runtime.json", json.dumps(plan, indent=2) + "\n")


def _find_reward_range(env: str) -> tuple[float, float]:
    env_id = env.rpartition(":")[2]
    if not is_registered(env_id):
        raise ValueError(f"the rewards of {env} are unknown; add --reward-range LEAST MOST")
    return find_game(env_id).reward_range


def _answers(served: Served) -> Iterator[str]:
    """Return the oracle's answers to the first instance, or one for an environment without one."""
    episode = Episode(served.env, served.default, served.response_format, **served.options)
    episode.reset(0)
    if not served.ours:
        yield (*episode.info.get("legal_actions", ()), "")[0]
    while served.ours and not episode.done:
        answer = episode.oracle()
        yield answer
        episode.step(answer)
    episode.close()
