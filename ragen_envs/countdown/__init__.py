"""Countdown: combine numbers by arithmetic to reach a target."""

from ragen_envs.countdown.env import CountdownEnv, CountdownVariant
from ragen_envs.countdown.generator import Generator

__all__ = ["CountdownEnv", "CountdownVariant", "Generator"]
