"""Packages for Prime Intellect's Environments Hub: a taskset of verifiers for a suite or an id.

The package is a few lines over `ragen_envs.integrations.verifiers`; writing it needs no verifiers.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from string import Template

from ragen_envs.core.folders import new_folder, write_text
from ragen_envs.integrations.bridging import Episode
from ragen_envs.registration import all_games

__all__ = ["members", "write_package"]

_TEMPLATES = Path(__file__).parent / "templates"


def members(name: str) -> list[str]:
    """Return the ids of a suite, or the id itself; "full" is the suite of all ids.

    Raises:
        ValueError: The name is neither a suite nor an id.
    """
    variants = [(game.namespace, variant) for game in all_games() for variant in game.variants]
    chosen = [f"{space}/{one.name}" for space, one in variants if name in (*one.suites, "full")]
    if chosen:
        return chosen
    if "/" not in name and ":" not in name:
        suites = dict.fromkeys(suite for _, one in variants for suite in one.suites)
        raise ValueError(f"there is no suite {name!r}; choose one of {', '.join(suites)}, full")
    Episode(name).close()
    return [name]


def write_package(folder: Path, name: str) -> str:
    """Write a project whose wheel verifiers finds by its name; return that name.

    Args:
        folder: New folder of the project.
        name: Name of a suite, or an id.

    Raises:
        ValueError: The folder is not empty, or the name is unknown.
    """
    ids = members(name)
    short = re.sub(r"[^a-z0-9]+", "-", name.rpartition(":")[2].lower()).removeprefix("ragen-")
    package = f"ragen-{short}"
    module = package.replace("-", "_")
    values = {
        "about": f"The suite {name}" if len(ids) > 1 else ids[0],
        "package": package,
        "module": module,
        "version": version("ragen-bench"),
        "ids": json.dumps(",".join(ids)),
        "rows": "\n".join(f"- `{id_}`" for id_ in ids),
    }
    with new_folder(folder) as draft:
        for template, path in (
            ("pyproject.toml", "pyproject.toml"),
            ("README.md", "README.md"),
            ("module.py", f"{module}/__init__.py"),
        ):
            text = Template((_TEMPLATES / f"{template}.txt").read_text(encoding="utf-8"))
            write_text(draft / path, text.substitute(values))
    return package
