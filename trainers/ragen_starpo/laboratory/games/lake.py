"""FrozenLake on stacked seeds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.games.frozen_lake import rules as lake_rules
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv, FrozenLakeVariant
from ragen_starpo.laboratory.games.boards import FAR, SQUARES, BoardGame
from ragen_starpo.laboratory.games.game import State, move_once

_SHOWN = torch.tensor([*map(SQUARES.index, "_OG")])
_SHOWN_BELOW = torch.tensor([*map(SQUARES.index, "PX√")])
"""How a square without the player, and with it, appears: ice, a hole, the goal."""


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
        self._slip, self.is_random = slip, slip.aside > 0
        self._rotations = torch.tensor(slip.turns)
        places = torch.arange(self._area)
        row, column = places // size, places % size
        self._neighbours = torch.stack(
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
        player = (boards == 3).long().argmax(-1)
        over = torch.zeros_like(player, dtype=torch.bool)
        left = torch.full_like(player, self.budget.max_actions)
        return State(boards.where(boards != 3, 0), player, noise, left, over, over)

    def show(self, state: State) -> Tensor:
        """Return the squares; the player's shows what it stands on."""
        squares = move_once(_SHOWN, state.board.device)[state.board]
        on = move_once(_SHOWN_BELOW, state.board.device)
        here = state.player[..., None]
        return squares.scatter(-1, here, on[state.board.gather(-1, here)])

    def find_plan(self, boards: Tensor) -> Tensor:
        far = torch.where(boards == 2, 0, FAR)
        neighbours = move_once(self._neighbours, boards.device)
        for _ in range(self._area):
            nearest = far[:, neighbours].amin(-1) + 1
            far = torch.where((boards == 1) | (boards == 2), far, torch.minimum(far, nearest))
        return far.clamp(max=FAR)

    def position(self, state: State) -> Tensor:
        return state.player

    def move(self, state: State, direction: Tensor, goes: Tensor, taken: Tensor) -> Tensor:
        slip = self._slip
        at = taken.clamp(max=self.budget.max_actions - 1)[..., None]
        roll = (state.noise.gather(-1, at)[..., 0] * slip.total).long()
        rotation = move_once(self._rotations, roll.device)[roll]
        ahead = move_once(self._neighbours, roll.device)[state.player, (direction + rotation) % 4]
        state.player = torch.where(goes, ahead, state.player)
        square = state.board.gather(-1, state.player[..., None])[..., 0]
        reached = goes & (square == 2)
        state.success = state.success | reached
        state.over = state.over | reached | (goes & (square == 1))
        return reached.float()
