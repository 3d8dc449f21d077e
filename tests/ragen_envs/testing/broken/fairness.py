"""Mistakes in splits, groups and ceilings."""

from tests.ragen_envs.testing.lamps import LampEnv, paths_of, subject_of


class TestsOnTrain(LampEnv):
    __test__ = False  # no test class

    def draw(self, seed):
        path = super().draw(seed)
        return paths_of("train")[seed] if self.split == "test" else path


class RepeatsALevel(LampEnv):
    def draw(self, seed):
        return super().draw(seed // 2 if self.split == "val" and seed else seed)


class RolloutIsAnInstance(LampEnv):
    def reset(self, *, seed=None, options=None):
        self.rollout = (options or {}).get("noise_seed", 0)
        return super().reset(seed=seed, options=options)

    def draw(self, seed):
        return super().draw(None if seed is None else seed + 100 * self.rollout)


class RolloutIsIgnored(LampEnv):
    def noise_of(self, seed, rollout):
        return super().noise_of(seed, 0)


class CeilingWithoutBudget(LampEnv):
    def info(self):
        return {**super().info(), "ceiling": 1.0}


BROKEN = {
    "splits_disjoint": (
        subject_of(TestsOnTrain),
        "seed 0 of 'test' is seed ",
        "splits are ranges of seeds",
    ),
    "held_out_unique": (
        subject_of(RepeatsALevel),
        "seeds 0 and 1 of 'val' are the same instance: ('left', ",
        "instances are drawn anew for each seed",
    ),
    "rollouts_share_first_observation": (
        subject_of(RolloutIsAnInstance),
        "(rollout 0 against rollout 1)",
        "instance and noise come from one stream",
    ),
    "rollouts_differ_in_noise": (
        subject_of(RolloutIsIgnored, oracle=None),
        "5 seeds with 8 rollouts each",
        "the noise is seeded by the seed alone",
    ),
    "oracle_reaches_ceiling": (
        subject_of(CeilingWithoutBudget),
        "where the mean ceiling is 1.0000",
        "the ceiling ignores the turn budget",
    ),
}
