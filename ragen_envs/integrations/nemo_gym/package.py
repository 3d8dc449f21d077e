"""The folder of a resources server, which NeMo Gym finds by `--search-dir`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from string import Template

from ragen_envs.core.folders import new_folder, write_text
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, tasks
from ragen_envs.integrations.nemo_gym.data_set import lines

_TEMPLATES = Path(__file__).parent / "templates"
_EXAMPLES = 5
"""Number of lines of the example data set, which NeMo Gym asks of each server."""
_MAX_STEPS = 100
"""Maximum turns of an environment that does not say its own."""


def write_package(
    folder: Path,
    env: str,
    splits: Sequence[Split] = ("train", "val"),
    response_format: ResponseFormat = "think",
    instances: int = 64,
    requirements: Sequence[str] = (),
) -> Path:
    """Write the server's code, configuration and data sets; return the configuration's path.

    Args:
        folder: New folder, a search directory of NeMo Gym.
        env: Id, or MODULE:ID to import the module that registers it.
        splits: Splits with a data set each.
        response_format: Format of the responses.
        instances: Maximum number of instances in a data set, from the first one on.
        requirements: Packages that the server installs next to this one.

    Raises:
        ValueError: The folder is not empty, or the environment or a split cannot be played.
    """
    if "sealed" in splits:
        raise ValueError("the sealed split needs the host's key, which has no place in a data set")
    name = re.sub(r"\W+", "_", env.rpartition(":")[2]).lower()
    data: dict[str, list[Info]] = {}
    for split in splits:
        size = Episode(env, split, response_format).instances or instances
        chosen = tasks(env, min(instances, size), split=split, response_format=response_format)
        data[split] = list(lines(chosen, f"{name}_agent", own_noise=split == "train"))
    sets = {**data, "example": data[splits[0]][:_EXAMPLES]}
    server = Path("resources_servers", name)
    values = {
        "env": env,
        "name": name,
        "version": version("ragen-bench"),
        "max_steps": _max_turns(env, splits[0], response_format),
        "datasets": _data_set_entries(server, sets),
    }
    config = server / "configs" / f"{name}.yaml"
    needed = [f"ragen-bench=={version('ragen-bench')}", *requirements]
    with new_folder(folder) as draft:
        for template, path in (
            ("app.py", server / "app.py"),
            ("task_data.py", server / "task_data.py"),
            ("config.yaml", config),
        ):
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
            write_text(draft / path, text.substitute(values))
        write_text(draft / server / "requirements.txt", "".join(f"{one}\n" for one in needed))
        for data_set, rows in sets.items():
            content = "".join(f"{json.dumps(row)}\n" for row in rows)
            write_text(draft / server / "data" / f"{data_set}.jsonl", content)
    return folder / config


def _max_turns(env: str, split: Split, response_format: ResponseFormat) -> int:
    inner = Episode(env, split, response_format).env.unwrapped
    return inner.budget.max_turns if isinstance(inner, TextEnv) else _MAX_STEPS


def _data_set_entries(server: Path, names: Iterable[str]) -> str:
    """Return the configuration's entries; NeMo Gym has no type for a test split."""
    types = {"train": "train", "example": "example"}
    return "\n".join(
        f"      - name: {name}\n"
        f"        type: {types.get(name, 'validation')}\n"
        f"        jsonl_fpath: {(server / 'data' / name).as_posix()}.jsonl\n"
        "        license: Apache 2.0"
        for name in names
    )
