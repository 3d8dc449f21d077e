"""Sokoban: push boxes onto targets."""

from ragen_envs.sokoban.env import SokobanEnv, SokobanVariant
from ragen_envs.sokoban.generator import Generator

__all__ = ["Generator", "SokobanEnv", "SokobanVariant"]
