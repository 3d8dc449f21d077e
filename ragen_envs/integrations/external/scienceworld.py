"""ScienceWorld's tasks: an instance is one of a task's variations, in ScienceWorld's own splits."""

from __future__ import annotations

import json
import shutil
from functools import cache
from typing import Any

from gymnasium.error import Error
from scienceworld import ScienceWorldEnv
from scienceworld.constants import ID2TASK

from ragen_envs.integrations.external.env import ExternalEnv, as_command

_FORM = (
    "Give one action between <answer> and </answer>, such as <answer>look around</answer>, "
    "<answer>open door to kitchen</answer>, <answer>focus on OBJECT</answer>, "
    "<answer>move OBJECT to OBJECT</answer>, <answer>use OBJECT on OBJECT</answer> or "
    "<answer>wait</answer>."
)
_MAX_COMMAND = 400
_UNKNOWN = "No known action matches that input"


def list_names() -> tuple[str, ...]:
    """Return the names of the tasks."""
    return tuple(ID2TASK.values())


@cache
def _simulator() -> ScienceWorldEnv:
    """Return the process's Java machine, which takes seconds to start and a gigabyte."""
    if shutil.which("java") is None:
        raise Error("ScienceWorld needs Java: install a JRE (Debian: default-jre-headless)")
    return ScienceWorldEnv()


def new_simulation() -> Any:
    """Return a simulation of its own in the process's Java machine."""
    return _simulator()._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()  # noqa: SLF001


@cache
def find_variations(task: str, split: str) -> tuple[int, ...]:
    """Return a task's variations in a split; ScienceWorld calls val "dev"."""
    simulation = new_simulation()
    simulation.load(task, 0, "", False)
    lists = {
        "train": simulation.getVariationsTrain,
        "val": simulation.getVariationsDev,
        "test": simulation.getVariationsTest,
    }
    return tuple(int(variation) for variation in lists[split]())


@cache
def find_gold_path(task: str, variation: int) -> tuple[str, ...]:
    """Return the actions that ScienceWorld finds for a variation; they need not be the fewest."""
    simulation = new_simulation()
    simulation.load(task, variation, "", True)
    simulation.reset()
    return tuple(map(str, simulation.getGoldActionSequence()))


class Env(ExternalEnv):
    """A task of ScienceWorld without simplifications.

    The reward is the change of the task's score, which ends at 1. A mistake that ScienceWorld
    punishes with a negative score ends the episode with a score of 0. Seed i is the i-th variation
    of the split; in train, counting begins again after the last one.
    """

    def __init__(self, name: str, split: str = "train", render_mode: None = None) -> None:
        super().__init__(name, split, render_mode)
        self._simulation: Any = None
        self._legal: tuple[str, ...] | None = None

    @property
    def held_out_size(self) -> int:  # type: ignore[override]
        """Number of variations in val and in test, at most 256; the smaller one of the two."""
        return min(256, *(len(find_variations(self.name, split)) for split in ("val", "test")))

    def _start(self, index: int) -> str:
        if self._simulation is None:
            self._simulation = new_simulation()
        variations = find_variations(self.name, self.split)
        self._variation = variations[index % len(variations)]
        self._simulation.load(self.name, self._variation, "", False)
        self._simulation.reset()
        self._legal, self._turn = None, 0
        look = str(self._simulation.step("look around")).strip()
        return f"{str(self._simulation.freeActionTaskDesc()).strip()}\n{_FORM}\n\n{look}"

    def _apply(self, action: str) -> tuple[str, bool]:
        command = as_command(action, _MAX_COMMAND)
        self._legal = None
        observation = str(self._simulation.step(command)).strip()
        self._is_valid = not observation.startswith(_UNKNOWN)
        self._turn += 1
        points = round(100 * self._simulation.getScore())
        self.score = max(points, 0) / 100
        return observation, bool(self._simulation.getCompleted()) or points < 0

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The valid actions, which are hundreds or thousands."""
        if not self._running:
            return ()
        if self._legal is None:
            listed = json.loads(self._simulation.getValidActionObjectCombinationsJSON())
            self._legal = tuple(sorted({each["action"] for each in listed["validActions"]}))
        return self._legal

    def best_actions(self) -> tuple[str, ...]:
        """Return the action of the gold path at this turn, which assumes the ones before."""
        return find_gold_path(self.name, self._variation)[self._turn : self._turn + 1]

    @property
    def instance(self) -> str:
        """The number of the variation."""
        return f"{self.name} {self._variation}"
