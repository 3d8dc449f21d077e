"""The interface of the laboratory's games: all episodes of all seeds at once, in tokens.

Shapes: S seeds, B episodes of a seed, A tokens of an answer. A turn is an observation whose tokens
have fixed places, some of them empty, and an answer. The rules are those of `ragen_envs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import Instance, RandomStream
from ragen_envs.core.instances import draw as draw_instance
from ragen_envs.core.text_env import TextEnv

PAD, USER, ASSISTANT, END, OPEN, CLOSE = range(6)
FRAME = ("<pad>", "<user>", "<assistant>", "<end>", "<answer>", "</answer>")
"""The texts of the tokens that all games have; a game's own tokens follow."""
I = TypeVar("I", bound=Instance)  # noqa: E741
AnyGame: TypeAlias = "Game[Any]"


@dataclass
class State:
    """The running episodes; tensors are (S, B, ...)."""

    board: Tensor  # the instance
    player: Tensor  # square of the player; in games without squares, number of the best arm or code
    noise: Tensor  # numbers in [0, 1) that decide chance
    actions_left: Tensor  # remaining actions
    over: Tensor  # whether an episode has ended
    success: Tensor  # whether it is solved
    boxes: Tensor | None = None  # square of the box, if there is one
    memory: Tensor | None = None  # results of the actions so far, in games without squares
    turn: int = 0  # number of turns taken, equal for all episodes

    def rows(self, index: Tensor) -> State:
        """Return the episodes of an index, (S, rows)."""

        def take(values: Tensor) -> Tensor:
            place = index.view(*index.shape, *[1] * (values.dim() - 2))
            return values.gather(1, place.expand(*index.shape, *values.shape[2:]))

        chosen = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(chosen, name, take(value))
        return chosen


class Game(ABC, Generic[I]):
    """A game for all episodes at once.

    Attributes:
        tokens: Texts of the tokens, by id.
        answer_tokens: Largest number of tokens of an answer.
        slots: Largest number of tokens of an episode.
        noise_count: Number of random numbers that an episode needs.
        is_random: Whether chance decides what an answer brings.
        choices: First token of the choices that players make, the number of tokens of a choice,
            and the number of such sets of tokens, which follow each other.
    """

    tokens: Sequence[str]
    noise_count: int
    is_random = False
    choices: tuple[int, int, int]

    def __init__(
        self, env: TextEnv[Any, I], budget: Budget, answer: int, first: int, later: int
    ) -> None:
        self.env, self.budget, self.answer_tokens = env, budget, answer
        turns = budget.max_turns
        self.slots = turns * answer + first + (turns - 1) * later
        self.noise_count = budget.max_actions

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        return len(self.tokens)

    @property
    def name(self) -> str:
        """A name of all that decides the instances and the rules."""
        return f"{self.env.variant.name}-{self.budget}"

    def load(self, count: int) -> Tensor:
        """Return the boards of the first train instances, (count, ...)."""
        return self.encode([self.env.get_instance(number) for number in range(count)])

    def load_held_out(self, count: int) -> Tensor:
        """Return boards of the games' part `test`, which share no state with those of train."""
        streams = [RandomStream("laboratory", "test", self.name, number) for number in range(count)]
        candidates = self.env.generate_instances
        return self.encode([draw_instance(candidates, stream, "test") for stream in streams])

    @abstractmethod
    def encode(self, instances: Sequence[I]) -> Tensor:
        """Return the boards of instances, (N, ...)."""

    @abstractmethod
    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states of boards (S, B, ...) with noise (S, B, noise_count)."""

    @abstractmethod
    def observe(self, state: State) -> tuple[Tensor, Tensor]:
        """Return the tokens between two answers, (S, B, n), and which of them are there."""

    @abstractmethod
    def step(self, state: State, answer: Tensor) -> Tensor:
        """Take answers (S, B, A), which end at their first CLOSE or END; return the rewards.

        Episodes that are over have none.
        """

    @abstractmethod
    def position(self, state: State) -> Tensor:
        """Return numbers below 2**32 of the states of episodes with the same board, (S, B)."""

    def find_plan(self, boards: Tensor) -> Tensor:
        """Return a player's knowledge of boards (N, ...) in addition to their states."""
        return boards.new_zeros(len(boards), 0)

    @abstractmethod
    def choose(
        self, state: State, plan: Tensor, skill: float, generators: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        """Return a player's answers, and the bits of the choices that it prefers at each place.

        A choice is one of the preferred ones with probability `skill`, else any.
        """


@lru_cache(maxsize=256)
def move_once(table: Tensor, device: torch.device) -> Tensor:
    """Return a table of a game on a device, to which it is moved once."""
    return table.to(device)


def make_generator(*path: str) -> torch.Generator:
    """Return a generator of random numbers for a purpose of the laboratory."""
    return torch.Generator().manual_seed(RandomStream("laboratory", *path).word() >> 1)


def make_generators(purpose: str, labels: Sequence[object]) -> list[torch.Generator]:
    """Return a generator for each label."""
    return [make_generator(purpose, str(label)) for label in labels]


def draw(generators: Sequence[torch.Generator], shape: tuple[int, ...], below: int = 0) -> Tensor:
    """Return random integers, or numbers in [0, 1), of a shape for each generator."""
    if below:
        return torch.stack([torch.randint(below, shape, generator=one) for one in generators])
    return torch.stack([torch.rand(shape, generator=one) for one in generators])


def choose_way(prefers: Tensor, skill: float, generators: Sequence[torch.Generator]) -> Tensor:
    """Return one of the preferred ways, (S, B, ways), with probability `skill`, else any."""
    rows, ways = prefers.shape[1:]
    ties = draw(generators, (rows, ways)).to(prefers.device) * prefers
    rolls = draw(generators, (rows, 2)).to(prefers.device)
    return torch.where(rolls[..., 0] < skill, ties.argmax(-1), (rolls[..., 1] * ways).long())
