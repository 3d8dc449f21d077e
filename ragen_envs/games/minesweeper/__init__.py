"""Minesweeper: open all squares without a mine, by what the open ones tell."""

from ragen_envs.games.minesweeper.env import MinesweeperEnv, MinesweeperVariant
from ragen_envs.games.minesweeper.generator import Generator

__all__ = ["Generator", "MinesweeperEnv", "MinesweeperVariant"]
