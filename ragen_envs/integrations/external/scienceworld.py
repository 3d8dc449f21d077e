"""ScienceWorld's tasks: an instance is one of a task's variations, in ScienceWorld's own splits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from threading import Lock
from typing import Any

from gymnasium.error import Error
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from scienceworld.constants import BASEPATH, ID2TASK, JAR_PATH

from ragen_envs.integrations.external.env import ExternalEnv, as_command

_FORM = (
    "Give one action between <answer> and </answer>, such as <answer>look around</answer>, "
    "<answer>open door to kitchen</answer>, <answer>focus on OBJECT</answer>, "
    "<answer>move OBJECT to OBJECT</answer>, <answer>use OBJECT on OBJECT</answer> or "
    "<answer>wait</answer>."
)
_MAX_COMMAND = 400
_UNKNOWN = "No known action matches that input"
_JAVA_OPTIONS = [
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
]
"""One identity hash for all objects. ScienceWorld takes the objects of a set in the order of these
hashes, which are others in each play; objects of equal hashes stay in the order of insertion."""
_ONE_CALL = Lock()


def list_names() -> tuple[str, ...]:
    """Return the names of the tasks."""
    return tuple(ID2TASK.values())


@cache
def _start_java() -> Any:
    """Return the process's Java machine, which takes seconds to start and a gigabyte."""
    if shutil.which("java") is None:
        raise Error("ScienceWorld needs Java: install a JRE (Debian: default-jre-headless)")
    port = launch_gateway(
        classpath=JAR_PATH, cwd=BASEPATH, javaopts=_JAVA_OPTIONS, die_on_exit=True
    )
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_field=True)).jvm


class Simulation:
    """A simulation in the process's Java machine, which no other one disturbs.

    All simulations of a machine draw from one random generator and number their objects by one
    counter. So each call is made alone, with the generator and the count of its simulation.
    """

    def __init__(self) -> None:
        self._jvm = _start_java()
        self._generator = self._jvm.java.util.Random()
        self._count = 0
        self._interface: Any = None

    @contextmanager
    def activated(self, seed: int | None = None) -> Iterator[Any]:
        """Give ScienceWorld's interface for calls that this simulation makes alone.

        Args:
            seed: Seed of a generator for these calls; None for that of the simulation, which
                `load` seeds.
        """
        jvm = self._jvm
        field = jvm.java.lang.Class.forName("scala.util.Random").getDeclaredField("self")
        field.setAccessible(True)
        generator = self._generator if seed is None else jvm.java.util.Random(seed)
        with _ONE_CALL:
            field.set(getattr(getattr(jvm.scala.util, "Random$"), "MODULE$"), generator)
            getattr(jvm.util.UniqueIdentifier, "count_$eq")(self._count)
            if self._interface is None:  # its constructor draws and makes objects, too
                self._interface = jvm.scienceworld.runtime.pythonapi.PythonInterface()
            yield self._interface
            self._count = jvm.util.UniqueIdentifier.count()

    def find_gold_path(self, task: str, variation: int) -> tuple[str, ...]:
        """Return ScienceWorld's solution of a variation, which needs not be the shortest one."""
        with self.activated() as interface:
            # Ways that were found in another variation would be taken again.
            self._jvm.scienceworld.goldagent.PathFinder.precomputedExhaustivePaths().clear()
            interface.load(task, variation, "", True)
            return tuple(map(str, interface.getGoldActionSequence()))


@cache
def find_variations(task: str, split: str) -> tuple[int, ...]:
    """Return a task's variations in a split; ScienceWorld calls val "dev"."""
    with Simulation().activated() as interface:
        interface.load(task, 0, "", False)
        lists = {
            "train": interface.getVariationsTrain,
            "val": interface.getVariationsDev,
            "test": interface.getVariationsTest,
        }
        return tuple(int(variation) for variation in lists[split]())


@cache
def find_gold_path(task: str, variation: int) -> tuple[str, ...]:
    """Return the actions that ScienceWorld finds for a variation."""
    return Simulation().find_gold_path(task, variation)


class Env(ExternalEnv):
    """A task of ScienceWorld without simplifications.

    The reward is the change of the task's score, which ends at 1. A mistake that ScienceWorld
    punishes with a negative score ends the episode with a score of 0. Seed i is the i-th variation
    of the split; in train, counting begins again after the last one.
    """

    def __init__(self, name: str, split: str = "train", render_mode: None = None) -> None:
        super().__init__(name, split, render_mode)
        self._legal: tuple[str, ...] | None = None

    @cached_property
    def _simulation(self) -> Simulation:
        return Simulation()

    @property
    def held_out_size(self) -> int:  # type: ignore[override]
        """Number of variations in val and in test, at most 256; the smaller one of the two."""
        return min(256, *(len(find_variations(self.name, split)) for split in ("val", "test")))

    def _start(self, index: int) -> str:
        variations = find_variations(self.name, self.split)
        self._variation = variations[index % len(variations)]
        self._legal, self._turn = None, 0
        with self._simulation.activated() as interface:
            interface.load(self.name, self._variation, "", False)
            look = str(interface.step("look around")).strip()
            task = str(interface.freeActionTaskDesc()).strip()
        return f"{task}\n{_FORM}\n\n{look}"

    def _apply(self, action: str) -> tuple[str, bool]:
        with self._simulation.activated() as interface:
            observation = str(interface.step(as_command(action, _MAX_COMMAND))).strip()
            points, completed = round(100 * interface.getScore()), bool(interface.getCompleted())
        self._legal, self._turn = None, self._turn + 1
        self._is_valid = not observation.startswith(_UNKNOWN)
        self.score = max(points, 0) / 100
        return observation, completed or points < 0

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The valid actions, which are hundreds or thousands."""
        if not self._running:
            return ()
        if self._legal is None:
            # ScienceWorld draws names for objects that share all of theirs.
            with self._simulation.activated(seed=0) as interface:
                listed = json.loads(interface.getValidActionObjectCombinationsJSON())
            self._legal = tuple(sorted({each["action"] for each in listed["validActions"]}))
        return self._legal

    def best_actions(self) -> tuple[str, ...]:
        """Return the action of the gold path at this turn, which assumes the ones before."""
        return find_gold_path(self.name, self._variation)[self._turn : self._turn + 1]

    @property
    def instance(self) -> str:
        """The number of the variation."""
        return f"{self.name} {self._variation}"
