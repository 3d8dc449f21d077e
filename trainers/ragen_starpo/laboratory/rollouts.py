"""Rollouts of all seeds at once, as rows of tokens without gaps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.laboratory.game import CLOSE, END, PAD, AnyGame
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.readers import Cache

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
        states: (S, R, turns) number of the state that a turn began in, which no two groups share;
            -1 after the last turn. The budget is no part of it, as in `ragen_envs`.
    """

    ids: Tensor
    mask: Tensor
    turns: Tensor
    log_probs: Tensor
    rewards: Tensor
    success: Tensor
    groups: Tensor
    states: Tensor


@dataclass(frozen=True)
class Chances:
    """Random numbers in [0, 1) that decide episodes.

    Attributes:
        noise: (S, R, chances), of the game.
        tokens: (S, R, turns, answer tokens), of the sampled tokens.
    """

    noise: Tensor
    tokens: Tensor


@torch.no_grad()
def play(
    model: StackedModel,
    weights: Weights,
    game: AnyGame,
    boards: Tensor,
    samples: int,
    chances: Chances,
    temperature: Tensor | float = 1.0,
) -> Rollouts:
    """Play `samples` episodes on each of the boards, (S, groups, ...)."""
    seeds, groups = boards.shape[:2]
    count, device = groups * samples, boards.device
    record = Record(game, seeds, count, device)
    cache = Cache(model.shape, seeds, groups, record.slots, device)
    sampler = Sampler(model, weights, cache, temperature)
    # The rollouts of a group read the same first observation.
    ids, present = game.observe(game.start(boards, chances.noise[:, ::samples]))
    sampler.read(ids, present)
    again = torch.arange(seeds * groups, device=device).repeat_interleave(samples)
    sampler.keep_rows(again, again.view(seeds, count) % groups)
    state = game.start(boards.repeat_interleave(samples, 1), chances.noise)
    rows = torch.arange(count, device=device).expand(seeds, count)
    ids, present = game.observe(state)
    for turn in range(game.budget.max_turns):
        if turn:
            ids, present = game.observe(state)
            sampler.read(ids, present)
        record.observe(rows, ids, present)
        drawn = chances.tokens[:, :, turn].gather(
            1, rows[..., None].expand(*rows.shape, game.answer_tokens)
        )
        answer = sampler.answer(drawn, ~state.over, record, rows)
        before = torch.where(state.over, -1, game.position(state))
        record.reward(rows, game.step(state, answer), state.success, before)
        most = int((~state.over).sum(1).max())
        if not most or turn + 1 == game.budget.max_turns:
            break
        if most <= _FULL * rows.shape[1]:
            kept = torch.argsort(state.over.long(), dim=1, stable=True)[:, :most]
            offsets = torch.arange(seeds, device=device)[:, None] * rows.shape[1]
            sampler.keep_rows((kept + offsets).flatten(), kept)
            state, rows = state.rows(kept), rows.gather(1, kept)
    numbers = torch.arange(seeds * groups, device=device).view(seeds, groups)
    return record.rollouts(numbers.repeat_interleave(samples, 1))


class Sampler:
    """Samples answers after what it has read, for rows that all read the same slots."""

    def __init__(
        self, model: StackedModel, weights: Weights, cache: Cache, temperature: Tensor | float
    ) -> None:
        self._model, self._weights, self._temperature = model, weights, temperature
        self._cache, self._hidden = cache, torch.empty(0)

    def keep_rows(self, index: Tensor, rows: Tensor) -> None:
        """Go on with some rows, given by their numbers in all seeds, and in each, (S, rows)."""
        self._cache = self._cache.rows(index)
        place = rows[..., None].expand(*rows.shape, self._hidden.shape[-1])
        self._hidden = self._hidden.gather(1, place)

    def read(self, ids: Tensor, present: Tensor) -> None:
        """Read the next tokens, (S, rows, T); `present` is False on empty slots."""
        self._cache.begin(present)
        self._hidden = self._model.hidden(self._weights, ids.flatten(1), self._cache)

    def log_probs(self) -> Tensor:
        """Return the log-probabilities of the next token, (S, rows, V)."""
        logits = self._model.logits(self._weights, self._hidden)
        return torch.log_softmax(logits / self._temperature, -1)

    def answer(self, drawn: Tensor, going: Tensor, record: Record, rows: Tensor) -> Tensor:
        """Return answers of the rows that are `going`, (S, rows, answer tokens)."""
        answer = torch.full(drawn.shape, PAD, device=drawn.device)
        for place in range(drawn.shape[-1]):
            log_probs = self.log_probs()
            cumulated = log_probs.exp().cumsum(-1)
            bound = drawn[..., place, None] * cumulated[..., -1:]
            token = (cumulated < bound).sum(-1)
            answer[..., place] = torch.where(going, token, PAD)
            record.sample(rows, token, going, log_probs.gather(-1, token[..., None])[..., 0])
            self.read(answer[..., place : place + 1], going[..., None])
            going = going & (token != CLOSE) & (token != END)
        return answer


class Record:
    """What the rows have read and sampled, in slots that are the same for all."""

    def __init__(self, game: AnyGame, seeds: int, count: int, device: torch.device) -> None:
        self.slots = game.slots
        size = (seeds, count, self.slots)
        self._ids = torch.full(size, PAD, device=device)
        self._present = torch.zeros(size, dtype=torch.bool, device=device)
        self._mask = torch.zeros_like(self._present)
        self._log_probs = torch.zeros(size, device=device)
        self._turns = torch.zeros(self.slots, dtype=torch.long, device=device)
        self._rewards = torch.zeros(seeds, count, game.budget.max_turns, device=device)
        self._success = torch.zeros(seeds, count, dtype=torch.bool, device=device)
        self._states = torch.full(self._rewards.shape, -1, device=device)
        self._slot = self._turn = 0

    def _write(self, column: Tensor, rows: Tensor, values: Tensor) -> None:
        width = values.shape[-1]
        place = rows[..., None].expand_as(values)
        column[..., self._slot : self._slot + width].scatter_(1, place, values)

    def observe(self, rows: Tensor, ids: Tensor, present: Tensor) -> None:
        """Add an observation to rows, (S, rows)."""
        self._write(self._ids, rows, ids)
        self._write(self._present, rows, present)
        self._turns[self._slot :] = self._turn
        self._slot += ids.shape[-1]

    def sample(self, rows: Tensor, ids: Tensor, going: Tensor, log_probs: Tensor) -> None:
        """Add a token of an answer to the rows that are `going`."""
        self._write(self._ids, rows, ids[..., None])
        self._write(self._present, rows, going[..., None])
        self._write(self._mask, rows, going[..., None])
        self._write(self._log_probs, rows, (log_probs * going)[..., None])
        self._slot += 1

    def reward(self, rows: Tensor, rewards: Tensor, success: Tensor, states: Tensor) -> None:
        """Add the results of a turn that began in `states`."""
        self._states[..., self._turn].scatter_(1, rows, states)
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
            torch.where(self._states < 0, -1, self._states + groups[..., None] * (1 << 32)),
        )
