"""Mastermind: find a secret code by guesses and their answers."""

from ragen_envs.mastermind.env import MastermindEnv, MastermindVariant
from ragen_envs.mastermind.generator import Generator

__all__ = ["Generator", "MastermindEnv", "MastermindVariant"]
