"""Frames: the possible meanings of a question's opening and of the phrase in it."""

from __future__ import annotations

from functools import cache

from ragen_envs.games.twenty_questions.understanding.tokens.data import data_file
from ragen_envs.games.twenty_questions.understanding.tokens.patterns import Frames

DENIES = "!"
"""Before a slot or a relation: the opposite is asked for ("Does it lack wings?")."""


@cache
def patterns() -> dict[str, tuple[str, ...]]:
    """Return the frames of each slot, as frames.toml has them."""
    return {slot: tuple(frames) for slot, frames in data_file("frames.toml").items()}


@cache
def frames() -> Frames[tuple[str, bool]]:
    """Return the frames of each slot of the synonym table, and of its denials."""
    written: dict[tuple[str, bool], list[str]] = {}
    for slot, each in patterns().items():
        for frame in each:
            denied = frame.startswith(DENIES)
            written.setdefault((slot, denied), []).append(frame.removeprefix(DENIES))
    return Frames(written)
