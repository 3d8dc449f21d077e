"""TextWorld's challenges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragen_envs.testing import Subject
from tests.ragen_envs.peers.textworld_text import STEPS, TextWorldText
from tests.ragen_envs.peers.told import SPACES, subject

PACKAGE = "textworld"
SETTINGS = {
    "tw-coin_collector": ("--level", "5"),
    "tw-treasure_hunter": ("--level", "5"),
    "tw-cooking": ("--recipe", "1", "--take", "1", "--go", "1", "--split", "train"),
    "tw-simple": ("--rewards", "dense", "--goal", "detailed"),
}


def _challenge(name: str) -> Subject:
    return subject(
        partial(TextWorldText, name, *SETTINGS[name]),
        oracle=lambda env: env.unwrapped.state.policy_commands[0],
        ceiling=lambda env: float(env.unwrapped.state.max_score),
        seeds=(0, 1),
        max_turns=STEPS,
        skip=(*SPACES, "step_before_reset", "hostile_text", "gymnasium_checker"),
    )


SUBJECTS: dict[str, Callable[[], Subject]] = {name: partial(_challenge, name) for name in SETTINGS}
