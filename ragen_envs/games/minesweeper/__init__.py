"""Minesweeper: open all squares without a mine, by what the open ones show."""
