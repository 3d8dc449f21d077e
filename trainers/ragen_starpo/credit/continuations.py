"""True advantages of turns: episodes go on many times from copied states, under the same policy.

A policy reads the whole history, so keys and values of the history are copied with the state of the
game. Equal continuations are computed once: a row stands for all episodes with its history.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.laboratory.games.game import CLOSE, END, PAD, AnyGame, State
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.readers import Cache, put_first
from ragen_starpo.laboratory.rollouts import Rollouts, Sampler

_TOGETHER = 16
"""Histories that are continued together."""


@dataclass(frozen=True)
class Continuations:
    """Continuations of histories under one policy.

    Attributes:
        model: The function of the weights.
        weights: The policy's, (1, ...).
        game: The game that is played.
        count: Episodes from each history.
        generator: Generator of all random numbers.
        temperature: That of the rollouts.
    """

    model: StackedModel
    weights: Weights
    game: AnyGame
    count: int
    generator: torch.Generator
    temperature: float = 1.0

    @torch.no_grad()
    def estimate(
        self, state: State, ids: Tensor, present: Tensor, answer: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the mean return after each of N histories, and its squared standard error.

        Args:
            state: The game at the histories' ends, (1, N, ...).
            ids: (N, tokens) histories up to an answer; the last token is present.
            present: (N, tokens) which of the tokens are there.
            answer: (N, answer tokens) next answers; without them the policy samples some.
        """
        means, squares = [], []
        for some in torch.split(torch.arange(len(ids)), _TOGETHER):
            forced = None if answer is None else answer[some]
            returns = self._play(state.rows(some[None]), ids[some], present[some], forced)
            means.append(returns.mean(1))
            squares.append(returns.var(1) / self.count)
        return torch.cat(means), torch.cat(squares)

    def _play(self, state: State, ids: Tensor, present: Tensor, answer: Tensor | None) -> Tensor:
        """Return the returns of all episodes, (N, count)."""
        rows = len(ids)
        cache = Cache(self.model.shape, rows, ids.device)
        sampler = Sampler(self.model, self.weights, cache, self.temperature)
        sampler.read(ids[None], present[None])
        of_row = torch.arange(rows).repeat_interleave(self.count)
        episodes = torch.arange(len(of_row))
        returns = torch.zeros(len(of_row), dtype=torch.float64)
        if answer is not None:
            # A model may sample padding, which only behind an answer is not there.
            is_there = (answer != PAD).long().flip(1).cumsum(1).flip(1) > 0
            for place in range(answer.shape[1]):
                sampler.read(answer[None, :, place, None], is_there[None, :, place, None])
        while len(episodes):
            if answer is None:
                answer, of_row, before = self._answer(sampler, of_row)
                state = state.rows(before[None])
            if self.game.is_random:
                state, answer = state.rows(of_row[None]), answer[of_row]
                state.noise = torch.rand(state.noise.shape, generator=self.generator)
                sampler.keep_rows(of_row, of_row[None])
                of_row = torch.arange(len(of_row))
            rewards = self.game.step(state, answer[None])[0]
            returns[episodes] += rewards[of_row]
            goes_on = ~state.over[0, of_row]
            episodes = episodes[goes_on]
            used, of_row = torch.unique(of_row[goes_on], return_inverse=True)
            if len(used):
                state, answer = state.rows(used[None]), None
                sampler.keep_rows(used, used[None])
                sampler.read(*self.game.observe(state))
        return returns.view(rows, self.count)

    def _answer(self, sampler: Sampler, of_row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sample an answer for each episode; rows branch where their episodes differ.

        Returns:
            Answers of the new rows, the new row of each episode, and the row that each new one
            comes from.
        """
        rows = int(of_row.max()) + 1
        before, going = torch.arange(rows), torch.ones(rows, dtype=torch.bool)
        answer = torch.full((rows, self.game.answer_tokens), PAD)
        for place in range(self.game.answer_tokens):
            cumulated = sampler.log_probs()[0].double().exp().cumsum(-1)
            cumulated = cumulated / cumulated[:, -1:]
            size = cumulated.shape[-1]
            # Row i has its bounds in (i, i + 1], so that one search serves all rows.
            bounds = (cumulated + torch.arange(len(cumulated))[:, None]).flatten()
            drawn = torch.rand(len(of_row), dtype=torch.float64, generator=self.generator)
            token = torch.searchsorted(bounds, of_row + drawn) - of_row * size
            token = torch.where(going[of_row], token.clamp(0, size - 1), PAD)
            branches, of_row = torch.unique(of_row * size + token, return_inverse=True)
            parent, token = branches // size, branches % size
            before, answer, going = before[parent], answer[parent], going[parent]
            answer[:, place] = token
            sampler.keep_rows(parent, parent[None])
            sampler.read(token[None, :, None], going[None, :, None])
            going = going & (token != CLOSE) & (token != END)
            if not going.any():
                break
        return answer, of_row, before


@dataclass(frozen=True)
class Truth:
    """True values of turns of R rollouts; tensors are (R, turns), not a number after the end.

    Attributes:
        advantages: Q - V: mean returns after an answer, less those before it.
        variances: Squared standard errors of the advantages.
        values: V.
        value_variances: Squared standard errors of V.
        pairs: Number of a pair of history and answer, equal for equal ones; -1 after the end.
    """

    advantages: Tensor
    variances: Tensor
    values: Tensor
    value_variances: Tensor
    pairs: Tensor


def find_truth(
    continuations: Continuations, rollouts: Rollouts, state: State, prompts: Tensor
) -> Truth:
    """Return the true values of the turns of rollouts, (1, R, ...).

    Turns with equal histories share one estimate of V, and those with equal answers too one of Q.

    Args:
        continuations: How episodes go on.
        rollouts: The episodes.
        state: Their first states, with the noise that they had.
        prompts: (R,) number of the instance.
    """
    game, shape = continuations.game, rollouts.rewards[0].shape
    columns = [torch.full(shape, torch.nan, dtype=torch.float64) for _ in range(4)]
    pairs, state, known = torch.full(shape, -1), copy(state), 0
    for turn in range(shape[1]):
        rows, history, present, answers = _find_histories(rollouts, turn, game.answer_tokens)
        if not len(rows):
            break
        here, answer = state.rows(rows[None]), answers[rows]
        # A game without squares hides its solution there.
        hidden = here.player[0, :, None]
        key = torch.cat([prompts[rows, None], hidden, history], 1)
        first, of_turn = _distinct(key)
        found = continuations.estimate(here.rows(first[None]), history[first], present[first])
        value, value_variance = (one[of_turn] for one in found)
        first, of_turn = _distinct(torch.cat([key, answer], 1))
        found = continuations.estimate(
            here.rows(first[None]), history[first], present[first], answer[first]
        )
        q_value, q_variance = (one[of_turn] for one in found)
        results = q_value - value, q_variance + value_variance, value, value_variance
        for column, one in zip(columns, results, strict=True):
            column[rows, turn] = one
        pairs[rows, turn] = of_turn + known
        known += len(first)
        game.step(state, answers[None])
    advantages, variances, values, value_variances = columns
    return Truth(advantages, variances, values, value_variances, pairs)


def _find_histories(
    rollouts: Rollouts, turn: int, width: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the rows that have a turn, what they read before its answer, and all rows' answers.

    Returns:
        The rows, (N,); their histories, (N, tokens), at the end, so that the last token is there;
        which of these tokens are there; and the answers, (R, width).
    """
    ids, turns, mask = rollouts.ids[0], rollouts.turns[0], rollouts.mask[0] > 0
    sampled = mask & (turns == turn)
    rows = sampled.any(1).nonzero()[:, 0]
    read = (mask | (ids != PAD)) & ((turns < turn) | ((turns == turn) & ~mask))
    length = read.sum(1)[rows]
    longest = int(length.max()) if len(rows) else 0
    history = _pack(ids, read, longest)[rows]
    place = torch.arange(history.shape[1]) - (history.shape[1] - length)[:, None]
    present = place >= 0
    history = torch.where(present, history.gather(1, place.clamp(min=0)), PAD)
    return rows, history, present, _pack(ids, sampled, width)


def _pack(ids: Tensor, mask: Tensor, width: int) -> Tensor:
    """Return the tokens of a mask, (R, width), without gaps, padded behind."""
    order = put_first(mask)[:, :width]
    return torch.where(mask.gather(1, order), ids.gather(1, order), PAD)


def _distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first row of each distinct one, and the number of each row's."""
    unique, inverse = torch.unique(keys, dim=0, return_inverse=True)
    first = torch.full((len(unique),), len(keys))
    return first.scatter_reduce(0, inverse, torch.arange(len(keys)), "amin"), inverse
