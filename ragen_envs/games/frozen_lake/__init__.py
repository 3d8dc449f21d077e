"""FrozenLake: cross slippery ice."""

from ragen_envs.games.frozen_lake.env import FrozenLakeEnv, FrozenLakeVariant
from ragen_envs.games.frozen_lake.generator import Generator

__all__ = ["FrozenLakeEnv", "FrozenLakeVariant", "Generator"]
