"""Desk: work in a small office with tools, for a user who may change the request."""

from ragen_envs.games.desk.env import DeskEnv, DeskVariant
from ragen_envs.games.desk.generator import Generator

__all__ = ["DeskEnv", "DeskVariant", "Generator"]
