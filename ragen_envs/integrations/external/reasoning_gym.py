"""reasoning-gym's data sets: a question, one answer, and the score that the data set gives it."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import reasoning_gym
from gymnasium.error import Error
from reasoning_gym.factory import DATASETS

from ragen_envs.integrations.external.env import ExternalEnv, find_in_split
from ragen_envs.integrations.global_random import RandomState

_FORM = "Give your final answer between <answer> and </answer>."


def list_names() -> tuple[str, ...]:
    """Return the names of the data sets; `composite` needs a configuration."""
    return tuple(sorted(name for name in DATASETS if name != "composite"))


def guess(observations: tuple[str, ...], generator: random.Random) -> str:
    """Return a random word of the question, as a player for --random-player."""
    words: list[str] = re.findall(r"\w+", observations[0].removesuffix(_FORM))
    return generator.choice(words or ["0"])


class Env(ExternalEnv):
    """A data set of reasoning-gym with its default configuration.

    The observation is a question. The response ends the episode, with the score that the data set
    gives it: 1 for a correct answer, and in some data sets less for one that is partly correct.
    The split of a question is decided by a hash of its text.
    """

    def _start(self, index: int) -> str:
        (self._items, self._entry), self._digest = find_in_split(
            f"reasoning-gym:{self.name}", self.split, index, self._make
        )
        return f"{self._entry['question']}\n\n{_FORM}"

    def _make(self, seed: int) -> tuple[tuple[Any, dict[str, Any]], bytes]:
        # Some data sets draw from the global generators.
        with RandomState(seed).activate():
            try:
                items = reasoning_gym.create_dataset(self.name, seed=seed, size=1)
                entry: dict[str, Any] = items[0]
            except Exception as error:
                raise Error(f"reasoning-gym:{self.name} cannot be made: {error}") from error
        return (items, entry), entry["question"].encode()

    def _apply(self, action: str) -> tuple[str, bool]:
        with RandomState(0).activate():
            score = float(self._items.score_answer(action, self._entry))
        self.score = min(max(score, 0.0), 1.0) if np.isfinite(score) else 0.0
        self._is_valid = bool(action)
        return f"Score: {self.score:g}", True

    def best_actions(self) -> tuple[str, ...]:
        """Return the data set's answer; () where it has only a way to score one."""
        answer = self._entry["answer"]
        return (str(answer),) if answer is not None else ()

    @property
    def instance(self) -> str:
        """The hash of the question."""
        return self._digest
