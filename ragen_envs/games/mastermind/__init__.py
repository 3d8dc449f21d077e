"""Mastermind: find a secret code by guesses and their answers."""

from ragen_envs.games.mastermind.env import MastermindEnv, MastermindVariant
from ragen_envs.games.mastermind.generator import Generator

__all__ = ["Generator", "MastermindEnv", "MastermindVariant"]
