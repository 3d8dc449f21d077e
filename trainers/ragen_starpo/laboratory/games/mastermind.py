"""Mastermind on stacked seeds: a token for each peg of a guess, which shows its answer too."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragen_envs.games.mastermind.env import WON_POINTS, MastermindEnv, MastermindVariant
from ragen_envs.games.mastermind.rules import LETTERS, Generator, Opening, all_codes
from ragen_starpo.laboratory.games.bandits import WORD, NamingGame
from ragen_starpo.laboratory.games.game import FRAME, State, move_once

_FACT = WORD + len(LETTERS)
_PEGS = 3
_CODES = all_codes(_PEGS)
_VARIANT = MastermindVariant("Mastermind4-v0", Generator(_PEGS, rows=4, fewest=2, most=12))


class MastermindGame(NamingGame[Opening]):
    """Mastermind with three pegs, and openings that leave few codes."""

    pegs = _PEGS
    tokens = (
        *FRAME,
        *LETTERS,
        *(
            f"{letter} at {place}, {in_place} in place, {elsewhere} elsewhere"
            for in_place, elsewhere in _CODES.kinds
            for place in range(_PEGS)
            for letter in LETTERS
        ),
    )
    choices = WORD, len(LETTERS), 1

    def __init__(self) -> None:
        env = MastermindEnv(_VARIANT, split="train", response_format="answer")
        rows = _VARIANT.generator.rows
        super().__init__(env, _VARIANT.budget, _PEGS + 2, rows * _PEGS + 2, _PEGS + 3)
        self._codes = torch.tensor(_CODES.codes)
        self._answers = torch.tensor(_CODES.answers.tolist())

    def encode(self, instances: Sequence[Opening]) -> Tensor:
        """Return guesses and kinds of answers, (N, rows, 2)."""
        return torch.tensor([one.rows for one in instances])

    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states; a secret code is drawn, and the memory has room for more."""
        possible = self._find_possible(boards)
        number = (noise[..., 0] * possible.sum(-1)).long()
        secret = (possible.cumsum(-1) > number[..., None]).long().argmax(-1)
        memory = boards.new_full((*boards.shape[:2], self.budget.max_turns, 2), -1)
        return self.begin(boards, secret, noise, memory)

    def _find_possible(self, rows: Tensor) -> Tensor:
        """Return which codes agree with rows (S, B, rows, 2), of which some are -1."""
        guess, kind = rows.clamp(min=0).unbind(-1)
        agrees = move_once(self._answers, rows.device)[guess] == kind[..., None]
        return (agrees | (rows[..., :1] < 0)).all(-2)

    def show(self, state: State) -> Tensor:
        """Return the opening, then the last guess with its answer; -1 where there is none."""
        rows = state.board
        if state.turn:
            assert state.memory is not None
            number = self.budget.max_actions - state.actions_left
            last = (number - 1).clamp(min=0)[..., None, None].expand(*number.shape, 1, 2)
            rows = state.memory.gather(2, last)
        guess, kind = rows.clamp(min=0).unbind(-1)
        letters = move_once(self._codes, rows.device)[guess]
        places = torch.arange(_PEGS, device=rows.device)
        facts = _FACT + (kind[..., None] * _PEGS + places) * len(LETTERS) + letters
        return torch.where(rows[..., :1] < 0, -1, facts).flatten(2)

    def name_ways(self, state: State) -> Tensor:
        letters = torch.arange(WORD, _FACT, device=state.player.device)
        return letters.expand(*state.player.shape, -1)

    def prefer(self, state: State, ways: list[Tensor]) -> Tensor:
        """Return the colours of the next peg of codes that agree with all answers, or any."""
        assert state.memory is not None
        codes = move_once(self._codes, state.player.device)
        possible = self._find_possible(torch.cat([state.board, state.memory], 2))
        for place, way in enumerate(ways):
            possible = possible & (codes[:, place] == way[..., None])
        letters = torch.arange(len(LETTERS), device=codes.device)
        prefers = (possible[..., None] & (codes[:, len(ways), None] == letters)).any(-2)
        return prefers | ~prefers.any(-1, keepdim=True)

    def act(self, state: State, ways: Tensor, goes: Tensor) -> Tensor:
        assert state.memory is not None
        guess = torch.zeros_like(state.player)
        for way in ways.unbind(-1):
            guess = guess * len(LETTERS) + way
        kind = move_once(self._answers, guess.device)[guess, state.player]
        turns = torch.arange(self.budget.max_turns, device=guess.device)
        number = (self.budget.max_actions - state.actions_left)[..., None]
        is_next = goes[..., None] & (turns == number)
        row = torch.stack([guess, kind], -1)[..., None, :]
        state.memory = torch.where(is_next[..., None], row, state.memory)
        found = goes & (kind == _CODES.win)
        state.success, state.over = state.success | found, state.over | found
        return found.float() * WON_POINTS / 100

    def position(self, state: State) -> Tensor:
        assert state.memory is not None
        kinds = len(_CODES.kinds)
        guess, kind = state.memory[..., :-1, :].unbind(-1)
        number = torch.zeros_like(state.player)
        for row in torch.where(guess < 0, 0, guess * kinds + kind + 1).unbind(-1):
            number = number * (len(_CODES.codes) * kinds + 1) + row
        return number
