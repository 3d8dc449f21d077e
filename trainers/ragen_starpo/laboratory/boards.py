"""FrozenLake and Sokoban for all episodes of all seeds at once, in the small model's tokens.

Shapes: S seeds, B episodes of a seed, A tokens of an answer. A turn is an observation whose tokens
have fixed places, some of them empty, and an answer. The rules are those of `ragen_envs`; texts
appear as the small model's tokenizer and template give them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import Instance, RandomStream, draw
from ragen_envs.core.text_env import TextEnv
from ragen_envs.games.frozen_lake import rules as lake_rules
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv, FrozenLakeVariant
from ragen_envs.games.sokoban import rules as sokoban_rules
from ragen_envs.games.sokoban.env import (
    BOX_POINTS,
    MOVE_POINTS,
    SOLVED_POINTS,
    SokobanEnv,
    SokobanVariant,
)
from ragen_envs.games.sokoban.generator import Generator as LevelGenerator
from ragen_starpo.studies.definition import Task

PAD, USER, ASSISTANT, END, OPEN, CLOSE = range(6)
DIRECTIONS = ("Up", "Right", "Down", "Left")
MOVE, JOINED = 6, 10
"""First token of the moves, and of the moves with the separator before them."""
SQUARES = "#_PXOSG√"
SQUARE = 14
DIGIT = SQUARE + len(SQUARES)
SLASH = DIGIT + 10
TOKENS = (
    "<pad>",
    "<user>",
    "<assistant>",
    "<end>",
    "<answer>",
    "</answer>",
    *DIRECTIONS,
    *(f" || {move}" for move in DIRECTIONS),
    *SQUARES,
    *"0123456789",
    "/",
)
"""The texts of the tokens, by id. Each is one token of the small model's tokenizer too."""
_TAIL = 4
"""Tokens of the remaining budget after the first turn: turns, a slash, actions in two digits."""
FAR = 99

I = TypeVar("I", bound=Instance)  # noqa: E741
AnyBoard: TypeAlias = "BoardGame[Any]"


@dataclass
class State:
    """The running episodes; tensors are (S, B, ...).

    `answers` are the episodes' numbers of taken turns, equal for all; `noise` has a number in
    [0, 1) for each action of an episode.
    """

    board: Tensor
    player: Tensor
    noise: Tensor
    actions_left: Tensor
    over: Tensor
    success: Tensor
    boxes: Tensor | None = None
    turn: int = 0
    extra: dict[str, Tensor] = field(default_factory=dict)

    def rows(self, index: Tensor) -> State:
        """Return the episodes of an index, (S, rows)."""

        def take(values: Tensor) -> Tensor:
            shape = (*index.shape, *values.shape[2:])
            return values.gather(
                1, index.view(*index.shape, *[1] * (values.dim() - 2)).expand(shape)
            )

        return State(
            take(self.board),
            take(self.player),
            take(self.noise),
            take(self.actions_left),
            take(self.over),
            take(self.success),
            None if self.boxes is None else take(self.boxes),
            self.turn,
        )


class BoardGame(ABC, Generic[I]):
    """A board game."""

    def __init__(self, env: TextEnv[Any, I], budget: Budget, area: int) -> None:
        self.env, self.budget, self._area = env, budget, area
        self.answer_tokens = budget.max_actions_per_turn + 2
        turns = budget.max_turns
        self.slots = turns * (area + 2 + self.answer_tokens) + (turns - 1) * (_TAIL + 1)

    vocabulary = len(TOKENS)

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
        return self.encode([draw(candidates, stream, "test") for stream in streams])

    @abstractmethod
    def encode(self, instances: Sequence[I]) -> Tensor:
        """Return the boards of instances."""

    @abstractmethod
    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states of boards (S, B, ...) with noise (S, B, actions)."""

    @abstractmethod
    def show(self, state: State) -> Tensor:
        """Return the squares as indices of `SQUARES`, (S, B, area)."""

    @abstractmethod
    def find_distances(self, boards: Tensor) -> Tensor:
        """Return the moves to a success without slips from each position of boards, (N, positions).

        It is `FAR` where there is no way.
        """

    @abstractmethod
    def position(self, state: State) -> Tensor:
        """Return the positions of `find_distances`, (S, B)."""

    @abstractmethod
    def move(self, state: State, direction: Tensor, goes: Tensor, taken: Tensor) -> Tensor:
        """Move where `goes`, and return the rewards; `taken` counts an episode's actions before."""

    def observe(self, state: State) -> tuple[Tensor, Tensor]:
        """Return the tokens between two answers, (S, B, n), and which of them are there."""
        squares = self.show(state) + SQUARE

        def fill(token: int) -> Tensor:
            return torch.full_like(squares[..., :1], token)

        parts = [fill(USER), squares]
        present = torch.ones_like(squares, dtype=torch.bool)
        there = present[..., :1]
        kept = [there, present]
        if state.turn:
            turns = fill(DIGIT + self.budget.max_turns - state.turn)
            left = state.actions_left[..., None]
            digits = [DIGIT + left // 10, DIGIT + left % 10]
            parts = [fill(END), *parts, turns, fill(SLASH), *digits]
            kept = [there, *kept, there, there, left >= 10, there]
        return torch.cat([*parts, fill(ASSISTANT)], -1), torch.cat([*kept, there], -1)

    def step(self, state: State, answer: Tensor) -> Tensor:
        """Take answers (S, B, A), which end at their first CLOSE or END; return the rewards.

        Episodes that are over have none.
        """
        in_form, words = read_answer(answer)
        running = ~state.over
        reward = torch.zeros(in_form.shape, device=answer.device)
        limit = state.actions_left.clamp(max=self.budget.max_actions_per_turn)
        before = self.budget.max_actions - state.actions_left
        ran = torch.zeros_like(state.actions_left)
        for place in range(words.shape[-1]):
            word = words[..., place]
            goes = running & ~state.over & (word >= 0) & (ran < limit)
            reward = reward + self.move(state, word, goes, before + ran)
            ran = ran + goes
        has_words, all_known = (words != _NO_WORD).any(-1), (words != _UNKNOWN).all(-1)
        is_valid = in_form & has_words & all_known
        reward = reward - torch.where(is_valid | ~running, 0.0, self.budget.penalty / 100)
        state.actions_left = state.actions_left - ran
        state.turn += 1
        ended = (state.actions_left <= 0) | torch.tensor(state.turn >= self.budget.max_turns)
        state.over = state.over | ended
        return reward


_NO_WORD, _UNKNOWN = -1, -2


def read_answer(answer: Tensor) -> tuple[Tensor, Tensor]:
    """Read answers (S, B, A) as `ragen_envs` reads their texts in the format `answer`.

    Returns:
        Whether an answer has the form, (S, B), and its words, (S, B, A): directions as in
        `DIRECTIONS`, -2 for what is no direction, -1 for no word.
    """
    shape, device = answer.shape[:2], answer.device
    words = torch.full_like(answer, _NO_WORD)
    before = torch.ones(shape, dtype=torch.bool, device=device)
    inside, closed = torch.zeros_like(before), torch.zeros_like(before)
    empty = torch.full(shape, _NO_WORD, dtype=answer.dtype, device=device)
    word = empty
    for place in range(answer.shape[-1]):
        token = answer[..., place]
        is_direction = (token >= MOVE) & (token < SQUARE)
        is_joined = is_direction & (token >= JOINED)
        direction = torch.where(is_joined, token - JOINED, token - MOVE)
        ends_word = inside & (is_joined | (token == CLOSE))
        # A word without text is one that is not known.
        whole = torch.where(word == _NO_WORD, _UNKNOWN, word)
        words[..., place] = torch.where(ends_word, whole, _NO_WORD)
        alone = torch.where(is_direction & (word == _NO_WORD), direction, _UNKNOWN)
        grown = torch.where(is_joined, direction, alone)
        word = torch.where(inside & (token != PAD), grown, word)
        is_open = token == OPEN
        closed = closed | (inside & (token == CLOSE))
        inside, before = (
            (before & is_open) | (inside & (token != CLOSE) & (token != END) & ~is_open),
            before & (token == PAD),
        )
    return closed, torch.where(closed[..., None], words, _NO_WORD)


class LakeGame(BoardGame[lake_rules.Lake]):
    """FrozenLake on lakes of any size and slip."""

    def __init__(self, size: int, slip: lake_rules.Slip, budget: Budget) -> None:
        longest = min(budget.max_actions, budget.max_turns * budget.max_actions_per_turn, 10)
        variant = FrozenLakeVariant(
            "FrozenLake-v0" if size == 4 else f"FrozenLake{size}-v0",
            lake_rules.Generator(size, longest),
            slip,
            budget=budget,
        )
        env = FrozenLakeEnv(variant, split="train", response_format="answer")
        super().__init__(env, budget, size * size)
        self._slip = slip
        places = torch.arange(self._area)
        row, column = places // size, places % size
        self._beside = torch.stack(
            [
                (row + down).clamp(0, size - 1) * size + (column + right).clamp(0, size - 1)
                for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1))
            ],
            1,
        )

    def encode(self, instances: Sequence[lake_rules.Lake]) -> Tensor:
        """Return maps as indices of `_SFHG`."""
        return torch.tensor([[*map("FHGS".index, one.map.replace("\n", ""))] for one in instances])

    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states."""
        player = (boards == 3).long().argmax(-1)
        over = torch.zeros_like(player, dtype=torch.bool)
        left = torch.full_like(player, self.budget.max_actions)
        return State(boards.where(boards != 3, 0), player, noise, left, over, over)

    def show(self, state: State) -> Tensor:
        """Return the squares; the player's own shows what it stands on."""
        shown = torch.tensor([*map(SQUARES.index, "_OG")], device=state.board.device)[state.board]
        on = torch.tensor([*map(SQUARES.index, "PX√")], device=state.board.device)
        here = state.player[..., None]
        return shown.scatter(-1, here, on[state.board.gather(-1, here)])

    def find_distances(self, boards: Tensor) -> Tensor:
        """Return the steps to the goal from each square."""
        far = torch.where(boards == 2, 0, FAR)
        beside = self._beside.to(boards.device)
        for _ in range(self._area):
            nearest = far[:, beside].amin(-1) + 1
            far = torch.where((boards == 1) | (boards == 2), far, torch.minimum(far, nearest))
        return far.clamp(max=FAR)

    def position(self, state: State) -> Tensor:
        """Return the player's square."""
        return state.player

    def move(self, state: State, direction: Tensor, goes: Tensor, taken: Tensor) -> Tensor:
        """Move one square, or slip aside."""
        slip = self._slip
        at = taken.clamp(max=self.budget.max_actions - 1)[..., None]
        roll = (state.noise.gather(-1, at)[..., 0] * slip.total).long()
        turns = torch.tensor(slip.turns, device=roll.device)[roll]
        beside = self._beside.to(roll.device)[state.player, (direction + turns) % 4]
        state.player = torch.where(goes, beside, state.player)
        square = state.board.gather(-1, state.player[..., None])[..., 0]
        reached = goes & (square == 2)
        state.success = state.success | reached
        state.over = state.over | reached | (goes & (square == 1))
        return reached.float()


class SokobanGame(BoardGame[sokoban_rules.Level]):
    """Sokoban in rooms of any size with one box."""

    def __init__(self, size: int, budget: Budget) -> None:
        variant = SokobanVariant(
            "Sokoban-v0" if size == 6 else f"Sokoban{size}-v0",
            LevelGenerator(height=size, width=size),
            budget=budget,
        )
        env = SokobanEnv(variant, split="train", response_format="answer")
        self._inside = size - 2
        super().__init__(env, budget, self._inside**2)

    def encode(self, instances: Sequence[sokoban_rules.Level]) -> Tensor:
        """Return rooms without their outer walls as indices of XSB's symbols."""
        return torch.tensor(
            [
                [
                    "# .$*@+".index(symbol)
                    for row in one.xsb.split("\n")[1:-1]
                    for symbol in row[1:-1]
                ]
                for one in instances
            ]
        )

    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states; a board is 0 on walls, 1 on floor and 2 on targets."""
        player = ((boards == 5) | (boards == 6)).long().argmax(-1)
        box = ((boards == 3) | (boards == 4)).long().argmax(-1)
        ground = torch.tensor([0, 1, 2, 1, 2, 1, 2], device=boards.device)[boards]
        over = torch.zeros_like(player, dtype=torch.bool)
        left = torch.full_like(player, self.budget.max_actions)
        return State(ground, player, noise, left, over, over, box)

    def show(self, state: State) -> Tensor:
        """Return the squares."""
        assert state.boxes is not None
        shown = torch.tensor([*map(SQUARES.index, "#_O")], device=state.board.device)[state.board]
        for piece, (on_floor, on_target) in ((state.boxes, "X√"), (state.player, "PS")):
            place = piece[..., None]
            is_target = state.board.gather(-1, place) == 2
            symbols = torch.where(is_target, SQUARES.index(on_target), SQUARES.index(on_floor))
            shown = shown.scatter(-1, place, symbols)
        return shown

    def find_distances(self, boards: Tensor) -> Tensor:
        """Return the moves to a solution from each square of the player and of the box."""
        count, area = boards.shape
        ground = torch.tensor([0, 1, 2, 1, 2, 1, 2], device=boards.device)[boards]
        every = torch.arange(area * area, device=boards.device).expand(count, -1)
        blank = torch.zeros_like(every)
        after = []
        for direction in range(4):
            state = State(
                ground[:, None].expand(-1, area * area, -1),
                every // area,
                blank[..., None].float(),
                blank,
                blank.bool(),
                blank.bool(),
                every % area,
            )
            self.move(state, blank + direction, ~blank.bool(), blank)
            after.append(self.position(state))
        far = torch.where(ground.gather(1, every % area) == 2, 0, FAR)
        while True:
            nearest = torch.stack([far.gather(1, one) for one in after]).amin(0) + 1
            nearer = torch.minimum(far, nearest)
            if bool((nearer == far).all()):
                return far
            far = nearer

    def position(self, state: State) -> Tensor:
        """Return the squares of the player and of the box as one number."""
        assert state.boxes is not None
        return state.player * self._area + state.boxes

    def move(self, state: State, direction: Tensor, goes: Tensor, taken: Tensor) -> Tensor:
        """Move one square, with the box ahead if the square behind it is free."""
        del taken
        assert state.boxes is not None
        ahead, is_free = self._beyond(state, state.player, direction)
        beyond, can_take_box = self._beyond(state, state.boxes, direction)
        pushes = ahead == state.boxes
        moves = goes & is_free & (~pushes | can_take_box)
        pushed = moves & pushes
        state.player = torch.where(moves, ahead, state.player)
        was_on = self._is_target(state)
        state.boxes = torch.where(pushed, beyond, state.boxes)
        is_on = self._is_target(state)
        solved = pushed & is_on
        state.success, state.over = state.success | solved, state.over | solved
        points = MOVE_POINTS + BOX_POINTS * (is_on.long() - was_on.long()) + SOLVED_POINTS * solved
        return torch.where(goes, points / 100, 0.0)

    def _beyond(self, state: State, place: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """Return the square in a direction, and whether it is no wall."""
        down = torch.tensor([-1, 0, 1, 0], device=place.device)[direction]
        right = torch.tensor([0, 1, 0, -1], device=place.device)[direction]
        row, column = place // self._inside + down, place % self._inside + right
        inside = (row >= 0) & (row < self._inside) & (column >= 0) & (column < self._inside)
        ahead = torch.where(inside, row * self._inside + column, place)
        return ahead, inside & (state.board.gather(-1, ahead[..., None])[..., 0] > 0)

    def _is_target(self, state: State) -> Tensor:
        assert state.boxes is not None
        return state.board.gather(-1, state.boxes[..., None])[..., 0] == 2


def find_game(task: Task, *, test: bool = False) -> AnyBoard:
    """Return the game of a task, or that which its last model is tested on."""
    size = int(task.test[0]) if test and task.test else task.size
    if task.game == "lake":
        turns, per_turn = (3 if task.size == 3 else 5), task.actions_per_turn or 2
        return LakeGame(size, find_slip(task.slip), Budget(turns, per_turn, turns * 2))
    return SokobanGame(size, Budget(4, task.actions_per_turn or 3, 10))


def find_slip(chance: float) -> lake_rules.Slip:
    """Return the slip with this chance of a step aside."""
    share = Fraction(chance).limit_denominator(60)
    aside = share.numerator
    return lake_rules.Slip(2 * (share.denominator - aside), aside)
