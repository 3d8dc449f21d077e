"""Sokoban: push boxes onto targets."""

from ragen_envs.games.sokoban.env import SokobanEnv, SokobanVariant
from ragen_envs.games.sokoban.generator import Generator

__all__ = ["Generator", "SokobanEnv", "SokobanVariant"]
