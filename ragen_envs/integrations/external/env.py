"""The episode that environments of all packages share."""

from __future__ import annotations

import re
import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import gymnasium
from gymnasium.error import Error
from gymnasium.spaces import Text

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.core.text_env import MAX_ACTION
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import check_step

T = TypeVar("T")
SPLITS = ("train", "val", "test")
MAX_OBSERVATION = 32768
"""Maximum length of an observation; a longer one loses its middle."""
SEEDS = 1 << 31
"""Upper bound of the seeds that packages are given."""
_GAP = "\n[...]\n"
_ATTEMPTS = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


class AnyText(Text):
    """The space of every str up to a length; packages state no characters of their texts."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        """Return whether a value is a str of at most this length."""
        return isinstance(x, str) and len(x) <= self.max_length


class ExternalEnv(gymnasium.Env[str, str], ABC):
    """An environment of another package.

    An action is the text between the last <answer> and </answer> of a response, or the response
    as a whole if it has no such tags. A seed is the index of an instance, the same in every
    process. `score` and the sum of rewards are in [0, 1]; `success` means a score of 1.

    Args:
        name: Name of the environment in the package.
        split: "train", "val" or "test", which share no instance.
        render_mode: None, the only mode.
    """

    metadata: Info = {"render_modes": []}
    held_out_size = 256
    """Number of instances in val, and in test."""

    def __init__(self, name: str, split: str = "train", render_mode: None = None) -> None:
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
        self.name, self.split, self.render_mode = name, split, render_mode
        self.observation_space = AnyText(MAX_OBSERVATION)
        self.action_space = AnyText(MAX_ACTION)
        self._running = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start the instance of a seed; draw one from `np_random` if the seed is None."""
        if options:
            raise ValueError(f"unknown reset options {sorted(options, key=repr)}; there are none")
        super().reset(seed=seed)
        index = int(self.np_random.integers(SEEDS)) if seed is None else int(seed)
        self.score, self._is_valid, self._error = 0.0, False, ""
        observation = self._start(index)
        self._running = True
        return fit(observation), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Pass a response to the package; an error that it raises ends the episode.

        Such an episode is truncated, and `info["error"]` has the error.
        """
        check_step(action, self._running)
        before, text = self.score, read_answer(action)
        try:
            observation, ended = self._apply(text)
        # Packages raise any error on unusual text.
        except Exception as error:  # noqa: BLE001
            self._error = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            observation, ended = f"The environment failed: {self._error}", True
        self._running = not ended
        reward, failed = self.score - before, bool(self._error)
        return fit(observation), reward, ended and not failed, failed, self._info()

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The actions that the package lists now; () if it lists none."""
        return ()

    def best_actions(self) -> tuple[str, ...]:
        """Return the next action of the package's solution; () without one."""
        return ()

    @abstractmethod
    def _start(self, index: int) -> str:
        """Start an instance of the split, and return its first observation."""

    @abstractmethod
    def _apply(self, action: str) -> tuple[str, bool]:
        """Take an action, set `score`, and return the observation and whether the game ended."""

    def _info(self) -> Info:
        return {
            "success": self.score >= 1,
            "score": self.score,
            "ceiling": 1.0,
            "instance": self.instance,
            "action_is_valid": self._is_valid,
            "error": self._error,
        }

    @property
    @abstractmethod
    def instance(self) -> str:
        """A text that names the instance; other splits have none of this name."""


def read_answer(response: str) -> str:
    """Return the action in a response: what the last pair of <answer> tags holds, else all."""
    end = response.rfind("</answer>")
    start = response.rfind("<answer>", 0, end) if end >= 0 else -1
    return (response[start + len("<answer>") : end] if start >= 0 else response).strip()


def as_command(text: str, length: int) -> str:
    """Return an action as one line of printable text that an interpreter can take."""
    text = text.encode("utf-8", "replace").decode()  # surrogates cannot be sent
    return " ".join(_CONTROL.sub(" ", text).split())[:length].strip()


def fit(text: str) -> str:
    """Return an observation that fits into its space, with its middle left out if it is long."""
    if len(text) <= MAX_OBSERVATION:
        return text
    half = (MAX_OBSERVATION - len(_GAP)) // 2
    return text[:half] + _GAP + text[-half:]


def find_in_split(
    name: str, split: str, index: int, make: Callable[[int], tuple[T, bytes]]
) -> tuple[T, str]:
    """Return an instance of a split and its content hash, which alone decides the split.

    So two splits share no instance, whatever the seeds. Half of all contents are in train, a
    quarter in val, and a quarter in test.

    Args:
        name: Id of the environment.
        split: The split.
        index: Index in the split.
        make: Makes an instance of a seed, and its content as bytes.

    Raises:
        gymnasium.error.Error: None of many seeds gives an instance of the split.
    """
    for seed in _seeds(name, split, index):
        made, content = make(seed)
        digest = content_hash(name, content)
        part = partition_of(digest, sixteenths=4)
        if split == ("train" if part == "sealed" else part):
            return made, digest
    raise Error(f"{name} has no instance in the split {split}: it makes too few different ones")


def _seeds(name: str, split: str, index: int) -> Iterator[int]:
    stream = RandomStream("external", name, split, index)
    return (stream.below(SEEDS) for _ in range(_ATTEMPTS))
