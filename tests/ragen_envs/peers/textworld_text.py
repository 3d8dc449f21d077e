"""TextWorld's challenges behind a thin adapter: each seed is a game, made and compiled here."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import textworld
from gymnasium.error import ResetNeeded
from textworld.challenges import CHALLENGES
from textworld.envs.wrappers import Limit

from tests.ragen_envs.peers.spaces import AnyText

STEPS = 20
"""After which TextWorld's own wrapper ends an episode."""
_FOLDER = TemporaryDirectory()
_TOLD = textworld.EnvInfos(
    admissible_commands=True, policy_commands=True, feedback=True, won=True, max_score=True
)


@cache
def _compiled(challenge: str, settings: tuple[str, ...], seed: int) -> str:
    """Return the file of a game, made once in each process, since that takes seconds."""
    _, make, arguments = CHALLENGES[challenge]
    parser = argparse.ArgumentParser()
    arguments(parser)
    options = textworld.GameOptions()
    options.seeds = seed
    options.path = str(Path(_FOLDER.name) / f"{challenge}-{seed}.z8")
    game = make(vars(parser.parse_args(settings)), options)
    return textworld.generator.compile_game(game, options)


class TextWorldText(gymnasium.Env):
    """The game that TextWorld makes of a seed, with the points of a step as its reward.

    Before the first reset there is no game, so a step is refused here.
    """

    def __init__(self, challenge: str, *settings: str) -> None:
        self.challenge, self.settings = challenge, settings
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.game = None
        self.state = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        seed = int(self.np_random.integers(1000)) if seed is None else seed
        self.close()
        game = textworld.start(_compiled(self.challenge, self.settings, seed), _TOLD)
        self.game = Limit(game, STEPS)
        self.state = self.game.reset()
        return self.state.feedback, {"legal_actions": tuple(self.state.admissible_commands)}

    def step(self, action: str):
        if self.state is None:
            raise ResetNeeded("call reset() first")
        before = self.state.score or 0
        self.state, score, done = self.game.step(action)
        info = {"legal_actions": tuple(self.state.admissible_commands or ())}
        return self.state.feedback, float(score - before), done, False, info

    def close(self) -> None:
        if self.game is not None:
            self.game.close()
