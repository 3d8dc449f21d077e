"""Sokoban on stacked seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.games.sokoban import rules as sokoban_rules
from ragen_envs.games.sokoban.env import (
    BOX_POINTS,
    MOVE_POINTS,
    SOLVED_POINTS,
    SokobanEnv,
    SokobanVariant,
)
from ragen_envs.games.sokoban.generator import Generator as LevelGenerator
from ragen_starpo.laboratory.games.boards import FAR, SQUARES, BoardGame
from ragen_starpo.laboratory.games.game import State, move_once

_GROUND = torch.tensor([0, 1, 2, 1, 2, 1, 2])
"""Wall, floor or target below each of XSB's symbols."""
_SHOWN = torch.tensor([*map(SQUARES.index, "#_O")])
_DOWN, _RIGHT = torch.tensor([[-1, 0, 1, 0], [0, 1, 0, -1]])


class SokobanGame(BoardGame[sokoban_rules.Level]):
    """Sokoban in rooms of any size with one box."""

    def __init__(self, size: int, budget: Budget) -> None:
        # Levels are the same for all budgets, also for those that cannot win each of them.
        enough = max(budget.max_actions_per_turn, -(-budget.max_actions // budget.max_turns))
        variant = SokobanVariant(
            "Sokoban-v0" if size == 6 else f"Sokoban{size}-v0",
            LevelGenerator(height=size, width=size),
            budget=replace(budget, max_actions_per_turn=enough),
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
        ground = move_once(_GROUND, boards.device)[boards]
        over = torch.zeros_like(player, dtype=torch.bool)
        left = torch.full_like(player, self.budget.max_actions)
        return State(ground, player, noise, left, over, over, box)

    def show(self, state: State) -> Tensor:
        assert state.boxes is not None
        squares = move_once(_SHOWN, state.board.device)[state.board]
        for piece, (on_floor, on_target) in ((state.boxes, "X√"), (state.player, "PS")):
            place = piece[..., None]
            is_target = state.board.gather(-1, place) == 2
            symbols = torch.where(is_target, SQUARES.index(on_target), SQUARES.index(on_floor))
            squares = squares.scatter(-1, place, symbols)
        return squares

    def find_plan(self, boards: Tensor) -> Tensor:
        count, area = boards.shape
        ground = move_once(_GROUND, boards.device)[boards]
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
        down = move_once(_DOWN, place.device)[direction]
        right = move_once(_RIGHT, place.device)[direction]
        row, column = place // self._inside + down, place % self._inside + right
        inside = (row >= 0) & (row < self._inside) & (column >= 0) & (column < self._inside)
        ahead = torch.where(inside, row * self._inside + column, place)
        return ahead, inside & (state.board.gather(-1, ahead[..., None])[..., 0] > 0)

    def _is_target(self, state: State) -> Tensor:
        assert state.boxes is not None
        return state.board.gather(-1, state.boxes[..., None])[..., 0] == 2
