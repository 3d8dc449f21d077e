"""Countdown: combine numbers by arithmetic to reach a target."""

from ragen_envs.games.countdown.env import CountdownEnv, CountdownVariant
from ragen_envs.games.countdown.generator import Generator

__all__ = ["CountdownEnv", "CountdownVariant", "Generator"]
