"""Third-party text environments that lack different features."""

import gymnasium
from gymnasium.spaces import Text


class Guess(gymnasium.Env):
    """Guess a digit in four turns."""

    def __init__(self, split="train"):
        self.split = split
        self.observation_space = self.action_space = Text(200)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._digit = int(self.np_random.integers(10))
        self._turn = 0
        return f"{self.split}: guess a digit from 0 to 9.", self._info(False)

    def _info(self, success):
        return {"success": success, "legal_actions": [str(n) for n in range(10)]}

    def step(self, action):
        self._turn += 1
        right = action.strip() == str(self._digit)
        return (
            f"{action} is {'right' if right else 'wrong'}.",
            float(right),
            right,
            not right and self._turn == 4,
            self._info(right),
        )


class Echo(gymnasium.Env):
    """Pays for long answers, and tells nothing else."""

    def __init__(self):
        self.observation_space = self.action_space = Text(200)

    def reset(self, *, seed=None, options=None):
        if options:
            raise ValueError(f"unknown options {options}")
        super().reset(seed=seed)
        self._pay = int(self.np_random.integers(1, 5))
        self._turn = 0
        return f"Say something; a character pays {self._pay}.", {}

    def step(self, action):
        self._turn += 1
        return "More.", float(self._pay * len(action)), self._turn == 3, False, {}


class Endless(Echo):
    """Never ends by itself."""

    def step(self, action):
        return "More.", 0.0, False, False, {}


class Failing(Echo):
    """Fails on the answer "fail"."""

    def step(self, action):
        if action == "fail":
            raise RuntimeError("the game broke")
        return super().step(action)


class Numbers(gymnasium.Env):
    """An environment with numbers as observations."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Discrete(3)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}


for name, made in {
    "Guess": Guess,
    "Echo": Echo,
    "Endless": Endless,
    "Failing": Failing,
    "Numbers": Numbers,
}.items():
    gymnasium.register(f"external/{name}-v0", made)
gymnasium.register("external/Short-v0", Endless, max_episode_steps=7)
