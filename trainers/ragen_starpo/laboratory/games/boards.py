"""Board games in the small model's tokens: texts appear as its tokenizer and template give them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.core.text_env import TextEnv
from ragen_starpo.laboratory.games.game import (
    ASSISTANT,
    CLOSE,
    END,
    FRAME,
    OPEN,
    PAD,
    USER,
    Game,
    I,
    State,
    choose_way,
    draw,
)

DIRECTIONS = ("Up", "Right", "Down", "Left")
MOVE, JOINED = 6, 10
"""First token of the moves, and of the moves with the separator before them."""
SQUARES = "#_PXOSG√"
SQUARE = 14
DIGIT = SQUARE + len(SQUARES)
SLASH = DIGIT + 10
TOKENS = (
    *FRAME,
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
_NO_WORD, _UNKNOWN = -1, -2


class BoardGame(Game[I]):
    """A board game."""

    tokens = TOKENS
    choices = MOVE, 4, 2

    def __init__(self, env: TextEnv[Any, I], budget: Budget, area: int) -> None:
        first = area + 2
        super().__init__(env, budget, budget.max_actions_per_turn + 2, first, first + _TAIL + 1)
        self._area = area

    @abstractmethod
    def show(self, state: State) -> Tensor:
        """Return the squares as indices of `SQUARES`, (S, B, area)."""

    @abstractmethod
    def find_plan(self, boards: Tensor) -> Tensor:
        """Return the moves to a success without slips from each position of boards, (N, positions).

        It is `FAR` where there is no way.
        """

    @abstractmethod
    def move(self, state: State, direction: Tensor, goes: Tensor, taken: Tensor) -> Tensor:
        """Move where `goes`, and return the rewards; `taken` counts an episode's actions before."""

    def observe(self, state: State) -> tuple[Tensor, Tensor]:
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

    def choose(
        self, state: State, plan: Tensor, skill: float, generators: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        """Return a player's answers; it plans move by move, as far as no slip changes the state."""
        limit, shape = self.budget.max_actions_per_turn, state.over.shape
        device = state.over.device
        count = 1 + draw(generators, (shape[1],), limit).to(device)
        planned = copy(state)
        planned.noise = torch.zeros_like(state.noise)
        on = ~state.over
        answer = torch.full((*shape, self.answer_tokens), PAD, device=device)
        answer[..., 0] = OPEN
        best = torch.zeros(answer.shape, device=device)
        bits = 1 << torch.arange(4, device=device)
        for place in range(limit):
            after = torch.stack([self._moves_after(planned, plan, way) for way in range(4)], -1)
            prefers = after == after.amin(-1, keepdim=True)
            best[..., place + 1] = (prefers * bits).sum(-1)
            way = choose_way(prefers, skill, generators)
            first = torch.full_like(way, MOVE if place == 0 else JOINED)
            answer[..., place + 1] = torch.where(place < count, first + way, answer[..., place + 1])
            self.move(planned, way, on & ~planned.over, torch.zeros_like(way))
        places = torch.arange(self.answer_tokens, device=device)
        answer = torch.where(places == count[..., None] + 1, CLOSE, answer)
        return torch.where(places > count[..., None] + 1, PAD, answer), best

    def _moves_after(self, state: State, plan: Tensor, way: int) -> Tensor:
        tried = copy(state)
        direction = torch.full_like(state.player, way)
        self.move(tried, direction, torch.ones_like(state.over), torch.zeros_like(direction))
        return plan.gather(-1, self.position(tried)[..., None])[..., 0]


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
