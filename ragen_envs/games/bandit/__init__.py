"""Bandits: two named arms and one pull, or many arms and many pulls."""

from ragen_envs.games.bandit.env import BanditEnv, BanditVariant
from ragen_envs.games.bandit.multi_pull import MultiPullEnv, MultiPullVariant

__all__ = ["BanditEnv", "BanditVariant", "MultiPullEnv", "MultiPullVariant"]
