"""Rollouts of all seeds at once, as rows of tokens without gaps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.laboratory.boards import CLOSE, END, PAD, BoardGame
from ragen_starpo.laboratory.model import Cache, StackedModel, Weights

_FULL = 0.8
"""Largest share of running episodes at which the others are dropped from the computation."""


@dataclass(frozen=True)
class Rollouts:
    """Episodes of S seeds, R of each; tensors of tokens are (S, R, T), padded behind each row.

    Attributes:
        ids: Tokens, from the first observation to the last answer.
        mask: 1 on sampled tokens.
        turns: The turn that a token belongs to.
        log_probs: Log-probabilities of sampled tokens, else 0.
        rewards: (S, R, turns) rewards.
        success: (S, R) whether an episode was solved.
        groups: (S, R) number of the group, counted through all seeds.
    """

    ids: Tensor
    mask: Tensor
    turns: Tensor
    log_probs: Tensor
    rewards: Tensor
    success: Tensor
    groups: Tensor


@torch.no_grad()
def play(
    model: StackedModel,
    weights: Weights,
    game: BoardGame,
    boards: Tensor,
    samples: int,
    noise: Tensor,
    chance: Tensor,
    temperature: float = 1.0,
) -> Rollouts:
    """Play `samples` episodes on each of the boards, (S, groups, ...).

    `noise`, (S, R, actions), is that of the game; `chance`, (S, R, turns, answer tokens), decides
    the sampled tokens. Both are in [0, 1).
    """
    seeds, groups = boards.shape[:2]
    count, device = groups * samples, boards.device
    record = Record(game, seeds, count, device)
    first = game.start(boards, noise[:, ::samples])
    ids, present = game.observe(first)
    cache = Cache(model.shape, seeds, groups, record.slots, device)
    cache.begin(present)
    hidden = model.hidden(weights, ids, cache)[:, :, -1:]
    again = torch.arange(seeds * groups, device=device).repeat_interleave(samples)
    cache = cache.rows(again)
    hidden = hidden.repeat_interleave(samples, 1)
    ids, present = ids.repeat_interleave(samples, 1), present.repeat_interleave(samples, 1)
    state = game.start(boards.repeat_interleave(samples, 1), noise)
    rows = torch.arange(count, device=device).expand(seeds, count)
    for turn in range(game.budget.max_turns):
        if turn:
            ids, present = game.observe(state)
            cache.begin(present)
            hidden = model.hidden(weights, ids, cache)[:, :, -1:]
        record.observe(rows, ids, present)
        answer = torch.full((*rows.shape, game.answer_tokens), PAD, device=device)
        going = ~state.over
        for place in range(game.answer_tokens):
            logits = model.logits(weights, hidden[:, :, 0]) / temperature
            log_probs = torch.log_softmax(logits, -1)
            drawn = chance[:, :, turn, place].gather(1, rows)
            cumulated = log_probs.exp().cumsum(-1)
            token = (cumulated < drawn[..., None] * cumulated[..., -1:]).sum(-1)
            answer[..., place] = torch.where(going, token, PAD)
            record.sample(rows, token, going, log_probs.gather(-1, token[..., None])[..., 0])
            cache.begin(going[..., None])
            going = going & (token != CLOSE) & (token != END)
            if place + 1 < game.answer_tokens:
                hidden = model.hidden(weights, answer[..., place : place + 1], cache)
            else:
                model.hidden(weights, answer[..., place : place + 1], cache)
        record.reward(rows, game.step(state, answer), state.success)
        running = (~state.over).sum(1)
        most = int(running.max())
        if not most or turn + 1 == game.budget.max_turns:
            break
        if most <= _FULL * rows.shape[1]:
            kept = torch.argsort(state.over.long(), dim=1, stable=True)[:, :most]
            offsets = torch.arange(seeds, device=device)[:, None] * rows.shape[1]
            cache = cache.rows((kept + offsets).flatten())
            state, rows = state.rows(kept), rows.gather(1, kept)
    numbers = torch.arange(seeds * groups, device=device).view(seeds, groups)
    return record.rollouts(numbers.repeat_interleave(samples, 1))


class Record:
    """What the rows have read and sampled, in slots that are the same for all."""

    def __init__(self, game: BoardGame, seeds: int, count: int, device: torch.device) -> None:
        self.slots = game.slots
        size = (seeds, count, self.slots)
        self._ids = torch.full(size, PAD, device=device)
        self._present = torch.zeros(size, dtype=torch.bool, device=device)
        self._mask = torch.zeros_like(self._present)
        self._log_probs = torch.zeros(size, device=device)
        self._turns = torch.zeros(self.slots, dtype=torch.long, device=device)
        self._rewards = torch.zeros(seeds, count, game.budget.max_turns, device=device)
        self._success = torch.zeros(seeds, count, dtype=torch.bool, device=device)
        self._slot = self._turn = 0

    def _write(self, column: Tensor, rows: Tensor, values: Tensor) -> None:
        width = values.shape[-1]
        place = rows[..., None].expand_as(values)
        column[..., self._slot : self._slot + width].scatter_(1, place, values)

    def observe(self, rows: Tensor, ids: Tensor, present: Tensor) -> None:
        self._write(self._ids, rows, ids)
        self._write(self._present, rows, present)
        self._turns[self._slot :] = self._turn
        self._slot += ids.shape[-1]

    def sample(self, rows: Tensor, ids: Tensor, going: Tensor, log_probs: Tensor) -> None:
        self._write(self._ids, rows, ids[..., None])
        self._write(self._present, rows, going[..., None])
        self._write(self._mask, rows, going[..., None])
        self._write(self._log_probs, rows, (log_probs * going)[..., None])
        self._slot += 1

    def reward(self, rows: Tensor, rewards: Tensor, success: Tensor) -> None:
        self._rewards[..., self._turn].scatter_(1, rows, rewards)
        self._success.scatter_(1, rows, success)
        self._turn += 1

    def rollouts(self, groups: Tensor) -> Rollouts:
        """Return the rows without empty slots; observations after the end are left out."""
        last = self._mask * torch.arange(1, self.slots + 1, device=self._ids.device)
        places = torch.arange(self.slots, device=self._ids.device)
        kept = self._present & (places < last.amax(-1, keepdim=True))
        order = torch.argsort((~kept).long(), dim=-1, stable=True)
        longest = int(kept.sum(-1).max())
        order = order[..., :longest]
        there = kept.gather(-1, order)

        def compact(column: Tensor) -> Tensor:
            return column.gather(-1, order) * there

        return Rollouts(
            compact(self._ids),
            compact(self._mask),
            compact(self._turns.expand_as(self._ids)),
            compact(self._log_probs),
            self._rewards,
            self._success,
            groups,
        )
