"""ALFWorld's games of text, from the files that `alfworld-download` puts into a folder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from alfworld.agents.environment.alfred_tw_env import TASK_TYPES, AlfredDemangler
from alfworld.info import ALFWORLD_DATA
from gymnasium.error import Error

from ragen_envs.integrations.external.textworld import CommandEnv

_FOLDERS = {"train": "train", "val": "valid_seen", "test": "valid_unseen"}
"""Folders of the splits; the rooms of `valid_unseen` are in no other one."""


def list_names() -> tuple[str, ...]:
    """Return "all", and the names of the six types of tasks."""
    return ("all", *TASK_TYPES.values())


@cache
def _find_files(name: str, split: str) -> tuple[Path, ...]:
    """Return the files of the solvable games, in the order of their paths."""
    folder = Path(ALFWORLD_DATA, "json_2.1.1", _FOLDERS[split])
    files = sorted(folder.glob("**/game.tw-pddl"))
    chosen = tuple(file for file in files if _is_of_type(file, name) and _is_solvable(file))
    if not chosen:
        raise Error(
            f"alfworld:{name} has no games in {folder}: run alfworld-download, or set the "
            "variable ALFWORLD_DATA to the folder with json_2.1.1"
        )
    return chosen


def _is_of_type(file: Path, name: str) -> bool:
    trial = file.parents[1].name  # such as "pick_and_place_simple-Mug-None-Shelf-219"
    parts = trial.split("-")
    return (name in ("all", parts[0])) and "movable" not in trial and "Sliced" not in trial


def _is_solvable(file: Path) -> bool:
    return bool(json.loads(file.read_bytes()).get("solvable"))


class Env(CommandEnv):
    """Games of ALFWorld, of one type of task or all; the reward is 1 for a reached goal.

    Seed i is the i-th file of the split; in train, counting begins again after the last one.
    """

    wrappers = (AlfredDemangler,)

    @property
    def held_out_size(self) -> int:  # type: ignore[override]
        """Number of games in val and in test, at most 256; the smaller one of the two."""
        return min(256, *(len(_find_files(self.name, split)) for split in ("val", "test")))

    def _find_file(self, index: int) -> tuple[str, str]:
        files = _find_files(self.name, self.split)
        file = files[index % len(files)]
        return str(file), "/".join(file.parts[-3:-1])
