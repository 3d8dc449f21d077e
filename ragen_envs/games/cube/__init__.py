"""The 2x2x2 cube: turn its faces until each has a single colour."""

from ragen_envs.games.cube.env import CubeEnv, CubeVariant
from ragen_envs.games.cube.generator import Generator

__all__ = ["CubeEnv", "CubeVariant", "Generator"]
