"""Mistakes in what is shared with the rest of the process, and in copies."""

import copy
import random
import time
from random import Random

import numpy as np

from tests.ragen_envs.testing.lamps import LampEnv, subject_of


class SeedsNumPy(LampEnv):
    def draw(self, seed):
        np.random.seed(0 if seed is None else seed)
        return super().draw(seed)


class ReadsTheGlobalState(LampEnv):
    def noise_of(self, seed, rollout):
        shared = Random()
        shared.setstate(random.getstate())
        return Random(f"{seed} {rollout} {shared.random()}")


class ScratchInTheClass(LampEnv):
    scratch = [None]

    def play(self, answer):
        self.scratch[0] = self.path[self.door]
        time.sleep(1e-4)
        told = super().play(answer)
        return told if self.scratch[0] == self.lamp_before(told) else "confused."

    def lamp_before(self, told):
        return self.path[self.door - (told == "it opens.")]


class DoorInTheClass(LampEnv):
    doors = {"now": 0}

    @property
    def door(self):
        return min(self.doors["now"], 5)

    @door.setter
    def door(self, value):
        self.doors["now"] = value


class KeepsItsInfo(LampEnv):
    def info(self):
        self.last = getattr(self, "last", {})
        self.last.update(super().info())
        return self.last


class CopySharesTheNoise(LampEnv):
    def __deepcopy__(self, memo):
        other = type(self)(self.split)
        other.__dict__.update(copy.copy(self.__dict__))
        return other


class HoldsALambda(LampEnv):
    def __init__(self, split="train"):
        super().__init__(split)
        self.lower = lambda text: text.lower()


BROKEN = {
    "global_random_not_written": (
        subject_of(SeedsNumPy),
        "seed 0: reset(seed=0) changed the state of numpy.random",
        "random.seed(seed) or np.random.seed(seed)",
    ),
    "global_random_not_read": (
        subject_of(ReadsTheGlobalState),
        "the same seed under two states of the modules random and numpy.random",
        "instead of a generator of the environment",
    ),
    "two_in_turns": (
        subject_of(DoorInTheClass),
        "IndexError: tuple index out of range (lamps.py:",
        "state in a class attribute",
    ),
    "two_in_threads": (
        subject_of(ScratchInTheClass),
        "alone, then beside 3 threads",
        "used within one call while another thread uses it too",
    ),
    "info_is_the_callers": (
        subject_of(KeepsItsInfo),
        "seed 0, turn 1: the step changed the info before it",
        "reset and step return self._info",
    ),
    "deepcopy": (
        subject_of(CopySharesTheNoise),
        "copy.deepcopy: seed ",
        "a __deepcopy__ that shares a part",
    ),
    "pickle": (
        subject_of(HoldsALambda),
        "pickle: seed 0, after turn 3: copying raised ",
        "an attribute that pickle cannot take, such as a lambda",
    ),
}


class SharedNoise:
    random = staticmethod(random.random)


class DrawsFromRandom(LampEnv):
    def noise_of(self, seed, rollout):
        return SharedNoise()


class SeedsAndDrawsFromRandom(LampEnv):
    def noise_of(self, seed, rollout):
        random.seed(f"{seed} {rollout}")
        return SharedNoise()
