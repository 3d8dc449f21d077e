"""Minesweeper: open all squares without a mine, using the digits of the open ones."""
