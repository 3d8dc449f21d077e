"""Warm starts: models imitate a player of a stated skill, so that training has what it can find."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ragen_starpo.laboratory.games.game import PAD, AnyGame, draw
from ragen_starpo.laboratory.learning import sampled_places
from ragen_starpo.laboratory.model import AdamW, StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Record, Rollouts
from ragen_starpo.recipes.run_sections import OptimiserSettings


@dataclass(frozen=True)
class WarmStart:
    """The settings of a warm start.

    `skill` is the fraction of the player's moves that are best ones; the others are random. The
    rate is that after the first twentieth of the steps; it decays along a half cosine.
    """

    skill: float
    steps: int = 400
    batch: int = 32
    learning_rate: float = 3e-3


def warm_start(
    settings: WarmStart,
    model: StackedModel,
    weights: Weights,
    game: AnyGame,
    boards: Tensor,
    chances: list[torch.Generator],
) -> None:
    """Train the weights on episodes of the player, on boards (N, ...), one generator for a seed."""
    plans = game.find_plan(boards)
    optimiser = AdamW(
        weights, OptimiserSettings(settings.learning_rate, weight_decay=0.0, betas=(0.9, 0.99))
    )
    seeds = len(chances)
    every = torch.ones(seeds, dtype=torch.bool, device=boards.device)
    for step in range(settings.steps):
        which = draw(chances, (settings.batch,), len(boards)).to(boards.device)
        episodes = demonstrate(game, boards, plans, which, settings.skill, chances)
        leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        place, sampled = sampled_places(episodes.mask)
        log_probs = model.predict(leaves, episodes.ids, place)
        tokens, best = (
            column.flatten(1).gather(1, place) for column in (episodes.ids, episodes.log_probs)
        )
        losses = imitation_losses(game.choices, log_probs, tokens, best.long(), settings.skill)
        loss = ((losses * sampled).sum(1) / sampled.sum(1)).sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        warm = min(1.0, (step + 1) / (settings.steps / 20))
        decay = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        optimiser.step(dict(zip(leaves, gradients, strict=True)), every, warm * decay)


def imitation_losses(
    choices: tuple[int, int, int], log_probs: Tensor, tokens: Tensor, best: Tensor, skill: float
) -> Tensor:
    """Return the cross-entropies, (S, N), of a player's tokens with log-probabilities (S, N, V).

    That of a choice is with the player's whole distribution: `best` has the bits of the ways that
    it prefers. So a small model learns from few episodes.
    """
    begin, ways, sets = choices
    is_choice = ((tokens >= begin) & (tokens < begin + ways * sets))[..., None]
    way = torch.arange(ways, device=tokens.device)
    first = (tokens - (tokens - begin) % ways)[..., None]
    prefers = (best[..., None] >> way & 1).float()
    shares = skill * prefers / prefers.sum(-1, keepdim=True).clamp(min=1) + (1 - skill) / ways
    alone = (way == 0).float()
    index = torch.where(is_choice, first + way, tokens[..., None])
    return -(log_probs.gather(-1, index) * torch.where(is_choice, shares, alone)).sum(-1)


def demonstrate(
    game: AnyGame,
    boards: Tensor,
    plans: Tensor,
    which: Tensor,
    skill: float,
    chances: list[torch.Generator],
) -> Rollouts:
    """Return a player's episodes; the bits of the best moves stand for `log_probs` of a move."""
    device, budget = boards.device, game.budget
    seeds, rows = which.shape
    noise = draw(chances, (rows, game.chances)).to(device)
    state = game.start(boards[which], noise)
    record = Record(game, seeds, rows, device)
    every = torch.arange(rows, device=device).expand(seeds, rows)
    for _ in range(budget.max_turns):
        ids, present = game.observe(state)
        record.observe(ids, present & ~state.over[..., None])
        answer, best = game.choose(state, plans[which], skill, chances)
        for place in range(game.answer_tokens):
            token = answer[..., place]
            record.sample(token, (token != PAD) & ~state.over, best[..., place])
        record.step(state, answer)
    return record.rollouts(every)
