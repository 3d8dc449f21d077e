"""Mistakes in what a seed decides."""

import os
from random import Random

from tests.ragen_envs.testing.lamps import LampEnv, paths_of, subject_of


class NoiseOfTheSystem(LampEnv):
    def noise_of(self, seed, rollout):
        return Random(os.urandom(8))


class SeedsItsNoiseOnce(LampEnv):
    kept = None

    def noise_of(self, seed, rollout):
        if self.kept is None:
            self.kept = super().noise_of(seed, rollout)
        return self.kept


class HashesAStr(LampEnv):
    def noise_of(self, seed, rollout):
        return Random(hash(f"{seed} {rollout}"))


class HasOneLevel(LampEnv):
    def draw(self, seed):
        return paths_of(self.split)[0]


BROKEN = {
    "same_seed_same_episode": (
        subject_of(NoiseOfTheSystem),
        "turn ",
        "a generator made without the seed",
    ),
    "reset_forgets": (
        subject_of(SeedsItsNoiseOnce),
        "first on a new object, then after other episodes on one",
        "a generator that is seeded only the first time",
    ),
    "same_seed_in_other_processes": (
        subject_of(HashesAStr),
        "this process, then a new one with PYTHONHASHSEED=1",
        "hash() of a str",
    ),
    "seeds_matter": (
        subject_of(HasOneLevel, splits={}, held_out={}),
        "all give the same instance",
        "reset does not use its seed",
    ),
}
