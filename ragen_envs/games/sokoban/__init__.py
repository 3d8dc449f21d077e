"""Sokoban: push boxes onto targets."""
