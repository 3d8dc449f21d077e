"""Warm starts: models imitate a player of a stated skill, so that training has what it can find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_bench.runs.atomic import replacing
from ragen_starpo.laboratory.games.game import PAD, AnyGame, draw, make_generators
from ragen_starpo.laboratory.model import AdamW, StackedModel, Weights
from ragen_starpo.laboratory.readers import Layout
from ragen_starpo.laboratory.rollouts import Record
from ragen_starpo.recipes.run_sections import OptimiserSettings
from ragen_starpo.studies.definition import LABORATORY, Task


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


def make_warm_starts(
    settings: WarmStart,
    task: Task,
    game: AnyGame,
    model: StackedModel,
    bank: Tensor,
    numbers: Sequence[int],
    cache: Path | None,
) -> Weights:
    """Return the weights of warm starts, (numbers, ...), each from the cache if it is there."""
    device = bank.device
    facts = LABORATORY, device.type, *astuple(model.shape), len(bank), game.name, task.slip
    label = "-".join(map(str, (*facts, *astuple(settings))))
    files = {number: cache / f"{label}-{number}.safetensors" for number in numbers} if cache else {}
    found = {}
    for number, file in files.items():
        try:
            if file.is_file():
                found[number] = load_file(file, device=str(device))
        except (SafetensorError, OSError) as error:
            raise UserError(f"{file} is damaged ({error}); remove it, and run it again") from None
    missing = [number for number in numbers if number not in found]
    together = 1 if device.type == "cpu" else max(1, len(missing))
    for first in range(0, len(missing), together):
        some = missing[first : first + together]
        first_weights = model.make_weights(make_generators("weights", some))
        weights = {name: one.to(device) for name, one in first_weights.items()}
        warm_start(settings, model, weights, game, bank, make_generators("demonstrations", some))
        for row, number in enumerate(some):
            found[number] = {name: one[row : row + 1].contiguous() for name, one in weights.items()}
            if cache:
                cache.mkdir(parents=True, exist_ok=True)
                with replacing(files[number]) as part:
                    save_file(found[number], part.name)
    # Gradient norms are summed in the order of names, and a file has an order of its own.
    names = sorted(found[numbers[0]])
    return {name: torch.cat([found[number][name] for number in numbers]) for name in names}


def warm_start(
    settings: WarmStart,
    model: StackedModel,
    weights: Weights,
    game: AnyGame,
    boards: Tensor,
    generators: list[torch.Generator],
) -> None:
    """Train the weights on episodes of the player, on boards (N, ...), one generator for a seed."""
    plans = game.find_plan(boards)
    optimiser = AdamW(
        weights, OptimiserSettings(settings.learning_rate, weight_decay=0.0, betas=(0.9, 0.99))
    )
    seeds = len(generators)
    every = torch.ones(seeds, dtype=torch.bool, device=boards.device)
    for step in range(settings.steps):
        which = draw(generators, (settings.batch,), len(boards)).to(boards.device)
        ids, mask, preferred = demonstrate(game, boards, plans, which, settings.skill, generators)
        leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        layout = Layout(model.shape, ids, mask)
        log_probs = model.predict(leaves, layout)
        bits = preferred.flatten(1).gather(1, layout.place)
        losses = imitation_losses(game.choices, log_probs, layout.sampled, bits, settings.skill)
        loss = ((losses * layout.is_sampled).sum(1) / layout.is_sampled.sum(1)).sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        warm = min(1.0, (step + 1) / (settings.steps / 20))
        decay = 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        optimiser.step(dict(zip(leaves, gradients, strict=True)), every, warm * decay)


def imitation_losses(
    choices: tuple[int, int, int], log_probs: Tensor, tokens: Tensor, bits: Tensor, skill: float
) -> Tensor:
    """Return the cross-entropies, (S, N), of a player's tokens with log-probabilities (S, N, V).

    That of a choice is with the player's whole distribution: `bits` are those of the ways that
    it prefers. So a small model learns from few episodes.
    """
    begin, ways, sets = choices
    is_choice = ((tokens >= begin) & (tokens < begin + ways * sets))[..., None]
    way = torch.arange(ways, device=tokens.device)
    first = (tokens - (tokens - begin) % ways)[..., None]
    prefers = (bits[..., None] >> way & 1).float()
    target = skill * prefers / prefers.sum(-1, keepdim=True).clamp(min=1) + (1 - skill) / ways
    alone = (way == 0).float()
    index = torch.where(is_choice, first + way, tokens[..., None])
    return -(log_probs.gather(-1, index) * torch.where(is_choice, target, alone)).sum(-1)


def demonstrate(
    game: AnyGame,
    boards: Tensor,
    plans: Tensor,
    which: Tensor,
    skill: float,
    generators: list[torch.Generator],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tokens of a player's episodes, their mask, and the bits of preferred choices."""
    device, budget = boards.device, game.budget
    seeds, rows = which.shape
    noise = draw(generators, (rows, game.noise_count)).to(device)
    state = game.start(boards[which], noise)
    record = Record(game, seeds, rows, device)
    every = torch.arange(rows, device=device).expand(seeds, rows)
    for _ in range(budget.max_turns):
        ids, present = game.observe(state)
        record.observe(ids, present & ~state.over[..., None])
        answer, preferred = game.choose(state, plans[which], skill, generators)
        for place in range(game.answer_tokens):
            token = answer[..., place]
            record.sample(token, (token != PAD) & ~state.over, preferred[..., place])
        record.step(state, answer)
    episodes = record.rollouts(every)
    # The record's column of log-probabilities has the bits, which are small integers.
    return episodes.ids, episodes.mask, episodes.log_probs.long()
