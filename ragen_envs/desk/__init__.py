"""Desk: work in a small office with tools, for a user who may change the request."""

from ragen_envs.desk.env import DeskEnv, DeskVariant
from ragen_envs.desk.generator import Generator

__all__ = ["DeskEnv", "DeskVariant", "Generator"]
