"""Environments of another package, registered when this module is imported."""

from itertools import count

import gymnasium
from gymnasium.spaces import Text

SECRET = "wombat"
SLOW = []
"""Functions that a `Slow` environment calls in a step."""


class Guess(gymnasium.Env):
    """Guess whether it is heads.

    The option `noise_seed` decides what it is, and an answer without "heads" raises an error that
    tells the secret.
    """

    observation_space = action_space = Text(99)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.heads = (options or {}).get("noise_seed", 0) % 2 == 0
        self.turns = count(1)
        return f"Heads? {seed}", {"secret": SECRET, "legal_actions": ("heads",), "score": "none"}

    def step(self, action):
        if "heads" not in action:
            raise KeyError(f"it was the {SECRET}")
        over = next(self.turns) == 2
        return "Well", float(self.heads), over, False, {"is_success": self.heads, "turn": "?"}


class Slow(Guess):
    """The same, whose steps wait."""

    def step(self, action):
        for wait in SLOW:
            wait()
        return super().step(action)


gymnasium.register("foreign/Guess-v0", Guess)
gymnasium.register("foreign/Slow-v0", Slow)
