"""Shared by every game: the base environment, the answer protocol, splits, boards, vectors."""
