"""Warm starts: models imitate a player of a stated skill, so that training has what it can find."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.laboratory.boards import (
    CLOSE,
    JOINED,
    MOVE,
    OPEN,
    PAD,
    SQUARE,
    AnyBoard,
    State,
)
from ragen_starpo.laboratory.learning import AdamW, sampled_places
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Record, Rollouts
from ragen_starpo.recipes.sections import OptimiserSettings


@dataclass(frozen=True)
class WarmStart:
    """The settings of a warm start.

    Attributes:
        skill: Share of the player's moves that are best ones; the others are random.
        steps: Optimiser steps.
        batch: Episodes of a step.
        learning_rate: Rate after the first twentieth of the steps; it decays along a half cosine.
    """

    skill: float
    steps: int = 400
    batch: int = 32
    learning_rate: float = 3e-3


def warm_start(
    settings: WarmStart,
    model: StackedModel,
    weights: Weights,
    game: AnyBoard,
    boards: Tensor,
    chances: list[torch.Generator],
) -> None:
    """Train the weights on episodes of the player, on boards (N, ...), one generator for a seed."""
    distances = game.find_distances(boards)
    optimiser = AdamW(
        weights, OptimiserSettings(settings.learning_rate, weight_decay=0.0, betas=(0.9, 0.99))
    )
    seeds = len(chances)
    every = torch.ones(seeds, dtype=torch.bool, device=boards.device)
    for step in range(settings.steps):
        which = draw(chances, (settings.batch,), len(boards)).to(boards.device)
        episodes = demonstrate(game, boards, distances, which, settings.skill, chances)
        leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        place, sampled = sampled_places(episodes.mask)
        log_probs = model.predict(leaves, episodes.ids, place)
        tokens, best = (
            column.flatten(1).gather(1, place) for column in (episodes.ids, episodes.log_probs)
        )
        losses = imitation_losses(log_probs, tokens, best.long(), settings.skill)
        loss = (losses * sampled).sum() / sampled.sum(1).float().mean()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        warm = min(1.0, (step + 1) / (settings.steps / 20))
        decay = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        optimiser.step(dict(zip(leaves, gradients, strict=True)), every, warm * decay)


def draw(chances: list[torch.Generator], shape: tuple[int, ...], below: int = 0) -> Tensor:
    """Return random integers, or numbers in [0, 1), of a shape for each generator."""
    if below:
        return torch.stack([torch.randint(below, shape, generator=one) for one in chances])
    return torch.stack([torch.rand(shape, generator=one) for one in chances])


def imitation_losses(log_probs: Tensor, tokens: Tensor, best: Tensor, skill: float) -> Tensor:
    """Return the cross-entropies, (S, N), of the player's choices with log-probabilities (S, N, V).

    Of a move it is that with the player's whole distribution: `best` has the bits of the moves
    that it prefers. So a small model learns from few episodes.
    """
    is_move = ((tokens >= MOVE) & (tokens < SQUARE))[..., None]
    ways = torch.arange(4, device=tokens.device)
    first = torch.where(tokens >= JOINED, JOINED, MOVE)[..., None]
    prefers = (best[..., None] >> ways & 1).float()
    shares = skill * prefers / prefers.sum(-1, keepdim=True).clamp(min=1) + (1 - skill) / 4
    alone = (ways == 0).float()
    index = torch.where(is_move, first + ways, tokens[..., None])
    return -(log_probs.gather(-1, index) * torch.where(is_move, shares, alone)).sum(-1)


def demonstrate(
    game: AnyBoard,
    boards: Tensor,
    distances: Tensor,
    which: Tensor,
    skill: float,
    chances: list[torch.Generator],
) -> Rollouts:
    """Return a player's episodes; the bits of the best moves stand for `log_probs` of a move."""
    device, budget = boards.device, game.budget
    seeds, rows = which.shape
    noise = draw(chances, (rows, budget.max_actions)).to(device)
    state = game.start(boards[which], noise)
    record = Record(game, seeds, rows, device)
    every = torch.arange(rows, device=device).expand(seeds, rows)
    for _ in range(budget.max_turns):
        ids, present = game.observe(state)
        record.observe(every, ids, present & ~state.over[..., None])
        answer, best = _choose(game, state, distances[which], skill, chances)
        for place in range(game.answer_tokens):
            token = answer[..., place]
            record.sample(every, token, (token != PAD) & ~state.over, best[..., place])
        record.reward(every, game.step(state, answer), state.success, every)
    return record.rollouts(every)


def _choose(
    game: AnyBoard, state: State, distances: Tensor, skill: float, chances: list[torch.Generator]
) -> tuple[Tensor, Tensor]:
    """Return the player's answers, and the bits of the moves that it prefers at each place.

    It plans one move after the other, as far as no slip changes the state.
    """
    most, shape = game.budget.max_actions_per_turn, state.over.shape
    device = state.over.device
    count = 1 + draw(chances, (shape[1],), most).to(device)
    plan = copy(state)
    plan.noise = torch.zeros_like(state.noise)
    on = ~state.over
    answer = torch.full((*shape, game.answer_tokens), PAD, device=device)
    answer[..., 0] = OPEN
    best = torch.zeros(answer.shape, device=device)
    bits = 1 << torch.arange(4, device=device)
    for place in range(most):
        after = torch.stack([_distance_after(game, plan, distances, way) for way in range(4)], -1)
        prefers = after == after.amin(-1, keepdim=True)
        best[..., place + 1] = (prefers * bits).sum(-1)
        ties = draw(chances, (shape[1], 4)).to(device) * prefers
        rolls = draw(chances, (shape[1], 2)).to(device)
        way = torch.where(rolls[..., 0] < skill, ties.argmax(-1), (rolls[..., 1] * 4).long())
        first = torch.full_like(way, MOVE if place == 0 else JOINED)
        answer[..., place + 1] = torch.where(place < count, first + way, answer[..., place + 1])
        game.move(plan, way, on & ~plan.over, torch.zeros_like(way))
    places = torch.arange(game.answer_tokens, device=device)
    answer = torch.where(places == count[..., None] + 1, CLOSE, answer)
    return torch.where(places > count[..., None] + 1, PAD, answer), best


def _distance_after(game: AnyBoard, state: State, distances: Tensor, way: int) -> Tensor:
    tried = copy(state)
    direction = torch.full_like(state.player, way)
    game.move(tried, direction, torch.ones_like(state.over), torch.zeros_like(direction))
    return distances.gather(-1, game.position(tried)[..., None])[..., 0].float()
