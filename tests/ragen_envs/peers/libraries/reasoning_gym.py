"""reasoning-gym's data sets, one or two of each of its categories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import gymnasium

from ragen_envs.testing import Subject
from tests.ragen_envs.peers.reasoning_gym_text import ReasoningGymText
from tests.ragen_envs.peers.told import SPACES, subject

PACKAGE = "reasoning-gym"
_EPISODES = ("step_before_reset", "step_after_end")
"""Checks of what is the adapter's alone."""
_OPEN = ("propositional_logic", "rubiks_cube")
"""Sets that hold no answer, only a way to score one."""
NAMES = (
    "simple_equations",
    "base_conversion",
    "palindrome_generation",
    "word_sorting",
    "arc_1d",
    "chain_sum",
    "gsm_symbolic",
    "bf",
    "rubiks_cube",
    "countdown",
    "mini_sudoku",
    "sokoban",
    "simple_geometry",
    "shortest_path",
    "list_functions",
    "knights_knaves",
    "propositional_logic",
)


def _question(env: gymnasium.Env) -> Any:
    return env.unwrapped.entry["question"]


def _answer(env: gymnasium.Env) -> str:
    return env.unwrapped.entry["answer"]


def _guess(env: gymnasium.Env, rng: Random) -> str:
    return rng.choice((str(_answer(env)), "42", "I do not know."))


def _data_set(name: str) -> Subject:
    known = {} if name in _OPEN else {"oracle": _answer, "ceiling": 1.0}
    return subject(
        partial(ReasoningGymText, name),
        answers=_guess,
        canonical=_question,
        max_turns=1,
        skip=(*SPACES, *_EPISODES),
        **known,
    )


SUBJECTS: dict[str, Callable[[], Subject]] = {name: partial(_data_set, name) for name in NAMES}
