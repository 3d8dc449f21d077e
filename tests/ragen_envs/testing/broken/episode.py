"""Mistakes in rewards, flags, verdicts and ends."""

from tests.ragen_envs.testing.lamps import TURNS, LampEnv, subject_of


class RewardIsNoNumber(LampEnv):
    def step(self, answer):
        observation, _, *rest = super().step(answer)
        return observation, float("nan"), *rest


class FlagIsACount(LampEnv):
    def step(self, answer):
        *first, lost, info = super().step(answer)
        return *first, int(lost), info


class SuccessIsOfTheTurn(LampEnv):
    def play(self, answer):
        told = super().play(answer)
        self.opened = told == "it opens."
        return told

    def info(self):
        return {**super().info(), "success": self.turn > 0 and self.opened}


class NonsenseIsNoTurn(LampEnv):
    def play(self, answer):
        told = super().play(answer)
        self.turn -= told == "that is no side."
        return told


class StepsWithoutState(LampEnv):
    def demand_running(self):
        if hasattr(self, "path"):
            super().demand_running()


class StepsAfterTheEnd(LampEnv):
    def demand_running(self):
        if not hasattr(self, "path"):
            super().demand_running()

    def play(self, answer):
        return super().play(answer) if self.running else "it is over."


BROKEN = {
    "rewards": (
        subject_of(RewardIsNoNumber),
        "seed 0, turn 1: the reward is nan, a float",
        "a division by zero",
    ),
    "flags": (
        subject_of(FlagIsACount),
        "seed 0, turn 1: truncated is 0, a int",
        "a count or None returned as a flag",
    ),
    "success": (
        subject_of(SuccessIsOfTheTurn),
        "info['success'] is False after it was True",
        "the key tells of the last turn",
    ),
    "episode_ends": (
        subject_of(NonsenseIsNoTurn),
        f"seed 0: no end after {TURNS} turns, the last answer being ''",
        "only valid answers are counted as turns",
    ),
    "step_before_reset": (
        subject_of(StepsWithoutState),
        "before the first reset, step('right') raised AttributeError: 'StepsWithoutState' object "
        "has no attribute 'turn'",
        "the error comes by accident",
    ),
    "step_after_end": (
        subject_of(StepsAfterTheEnd),
        "seed 0: after the end, step('",
        "nothing notes whether an episode is running",
    ),
}
