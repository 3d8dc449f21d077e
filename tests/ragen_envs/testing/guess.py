"""A number to guess: correct, and the same text for every instance until a number is answered."""

import string

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

TURNS, MOST = 7, 100
NUMBERS = [str(number) for number in range(1, MOST + 1)]


class Guess(gymnasium.Env):
    metadata = {"render_modes": []}

    def __init__(self):
        self.observation_space = Text(99, charset=string.printable)
        self.action_space = Text(9, min_length=0, charset=string.printable)
        self.running = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret = self.draw()
        self.turn = 0
        self.running = True
        return f"Guess a number from 1 to {MOST}.", {}

    def draw(self):
        return int(self.np_random.integers(1, MOST + 1))

    def step(self, action):
        if not self.running:
            raise ResetNeeded("call reset() first")
        self.turn += 1
        number = int(action) if action in NUMBERS else None
        won = number == self.secret
        lost = not won and self.turn == TURNS
        self.running = not (won or lost)
        return self.told(number), float(won), won, lost, {"success": won}

    def told(self, number):
        if number is None:
            return "That is no number."
        if number == self.secret:
            return "That is it."
        return "Higher." if number < self.secret else "Lower."


class OneSecret(Guess):
    def draw(self):
        return 42


def oracle(env):
    return str(env.unwrapped.secret)
