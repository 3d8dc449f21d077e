"""A game as a Gymnasium environment: find a code of four letters from hints."""

import hashlib
import itertools
import string
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text

LETTERS = "ABCDEF"
CODES = tuple("".join(code) for code in itertools.product(LETTERS, repeat=4))
TURNS = 8
RULES = f"I think of a code of four letters from A to F. You have {TURNS} guesses. Name a code."


def digest(code: str) -> bytes:
    """Return a code's hash, which decides its split and its place there."""
    return hashlib.sha256(code.encode()).digest()


def split_of(code: str) -> str:
    """Return the split that a code is in, so that what is tested is never trained on."""
    return ("val", "test", "train", "train")[digest(code)[-1] % 4]


def hint(code: str, guess: str) -> str:
    """Return how many letters of a guess are right: in their places, and elsewhere."""
    placed = sum(map(str.__eq__, code, guess))
    common = sum(min(code.count(letter), guess.count(letter)) for letter in LETTERS)
    return f"{guess}: {placed} in place, {common - placed} elsewhere."


class CodeEnv(gymnasium.Env[str, str]):
    """One `step` is one guess."""

    def __init__(self, split: str = "train") -> None:
        self.codes = sorted((code for code in CODES if split_of(code) == split), key=digest)
        self.observation_space = Text(200, charset=string.printable)
        self.action_space = Text(200, charset=string.printable)
        self.turns: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Think of the code of a seed."""
        super().reset(seed=seed, options=options)
        place = int(self.np_random.integers(1 << 32)) if seed is None else seed
        self.code = self.codes[place % len(self.codes)]
        self.turns = 0
        return RULES, self._info(won=False)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answer a guess."""
        if self.turns is None:
            raise ResetNeeded("call reset before the first guess, and after the end")
        self.turns += 1
        guess = action.strip().upper()
        known = guess if guess in CODES else None
        won, over = known == self.code, self.turns == TURNS
        text = hint(self.code, known) if known else "That is no code of four letters from A to F."
        if won or over:
            self.turns = None
        return text, float(won), won, over and not won, self._info(won)

    def _info(self, won: bool) -> dict[str, Any]:
        return {"instance": self.code, "legal_actions": CODES, "success": won}


gymnasium.register("code/Code-v0", "code_game:CodeEnv", max_episode_steps=TURNS)
