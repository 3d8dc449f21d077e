"""Runs of one arm: warm starts, iterations of rollouts and learning, and a test at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ragen_starpo.diagnostics.monitor import AdaptableSettings, Adaptation, EchoTrapMonitor
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.games.game import AnyGame, draw, make_generators
from ragen_starpo.laboratory.learning import Learner
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Chances, Rollouts, play, replace_groups
from ragen_starpo.laboratory.settings import read_arm
from ragen_starpo.laboratory.warm_start import WarmStart, make_warm_starts
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.small_model import Shape
from ragen_starpo.studies.definition import Task
from ragen_starpo.studies.metrics import WATCHED, Runs

SHAPE = Shape(width=64, layers=2, heads=4, hidden=192)
"""Shape of the model, of some 110,000 weights."""
TRAIN, TEST = 2_000, 1_024
"""Numbers of instances to train and to test on."""
_TOGETHER = 8
"""Runs that a CPU computes together: more gain nothing and need memory."""


def run_arm(
    task: Task,
    settings: Sequence[str],
    *,
    iterations: int,
    warm_starts: Sequence[int],
    seeds: Sequence[int],
    device: str,
    cache: Path | None = None,
    on_runs: Callable[[int], None] = lambda _: None,
) -> Runs:
    """Train a run for each warm start and seed, in the order of their pairs.

    Runs of equal numbers play the same instances with the same noise in every arm.
    """
    recipe = read_arm(settings, task)
    game = find_game(task)
    bank = game.load(TRAIN).to(device)
    held_out = find_game(task, test=True).load_held_out(TEST).to(device)
    model = StackedModel(SHAPE, game.vocabulary)
    warm = make_warm_starts(WarmStart(task.skill), task, game, model, bank, warm_starts, cache)
    start = _now(bank.device)
    pairs = [(row, number, seed) for row, number in enumerate(warm_starts) for seed in seeds]
    parts = []
    together = len(pairs) if bank.device.type == "cuda" else _TOGETHER
    for first in range(0, len(pairs), together):
        some = pairs[first : first + together]
        weights = {name: one[[row for row, _, _ in some]].clone() for name, one in warm.items()}
        runs = [(number, seed) for _, number, seed in some]
        part = _RunGroup(task, recipe, game, Learner(model, recipe, weights), runs, bank, held_out)
        parts.append(part.train(iterations, on_runs))
    found = [part.curves for part in parts]
    # Runs that never took a step have no curves of the losses.
    curves = {
        name: np.concatenate([one.get(name, np.full_like(one["success"], np.nan)) for one in found])
        for name in dict.fromkeys(name for one in found for name in one)
    }
    test = np.concatenate([part.test for part in parts])
    before = np.concatenate([part.start for part in parts])
    spent = _now(bank.device) - start
    on_core, on_gpu = (0.0, spent) if bank.device.type == "cuda" else (spent, 0.0)
    return Runs(curves, test, before, on_core, on_gpu)


def train_policy(
    task: Task, settings: Sequence[str], *, iterations: int, seed: int
) -> tuple[Weights, float]:
    """Train one run on the CPU; return its weights, (1, ...), and its success in the last test."""
    game, recipe = find_game(task), read_arm(settings, task)
    bank = game.load(TRAIN)
    held_out = find_game(task, test=True).load_held_out(TEST)
    model = StackedModel(SHAPE, game.vocabulary)
    weights = make_warm_starts(WarmStart(task.skill), task, game, model, bank, [seed], None)
    learner = Learner(model, recipe, weights)
    run = _RunGroup(task, recipe, game, learner, [(seed, seed)], bank, held_out)
    result = run.train(iterations, lambda _: None)
    return weights, float(result.test[0])


class _RunGroup:
    """The runs of an arm that are computed together."""

    def __init__(
        self,
        task: Task,
        recipe: Recipe,
        game: AnyGame,
        learner: Learner,
        runs: Sequence[tuple[int, int]],
        bank: Tensor,
        held_out: Tensor,
    ) -> None:
        self._task, self._recipe, self._game, self._learner = task, recipe, game, learner
        self._runs, self._bank, self._held_out = runs, bank, held_out
        self._device = bank.device
        first = AdaptableSettings.of(recipe)
        self._adaptations = [Adaptation(recipe.monitor, first) for _ in runs]
        self._refills = torch.full((len(runs), 1), first.refills, device=self._device)
        self._monitors = [EchoTrapMonitor(recipe.monitor) for _ in runs]

    def train(self, iterations: int, on_runs: Callable[[int], None]) -> Runs:
        """Train for some iterations and test before and after."""
        started = self._test()
        rows: list[dict[str, Tensor]] = []
        for number in range(iterations):
            rows.append(self._iterate(number))
            on_runs(len(self._runs))
        names = list(dict.fromkeys(name for row in rows for name in row))
        nothing = torch.full((len(self._runs),), torch.nan)
        curves = {
            name: torch.stack([row.get(name, nothing) for row in rows], 1).numpy() for name in names
        }
        return Runs(curves, self._test(), started, 0.0)

    def _iterate(self, number: int) -> dict[str, Tensor]:
        task = self._task
        generators = make_generators("iteration", [f"{run}-{number}" for run in self._runs])
        which = draw(generators, (task.groups,), len(self._bank)).to(self._device)
        warmth = self._learner.temperature
        rollouts = self._play(self._game, self._bank[which], task.samples, generators, warmth)
        found = {
            "reward": rollouts.rewards.sum(-1).mean(1),
            "success": rollouts.success.float().mean(1),
            "reward_deviation": rollouts.find_deviations().mean(1),
            "rollout_tokens": rollouts.mask.sum((1, 2)),
        }
        if self._recipe.loss.mask_void_turns:
            found["void"] = rollouts.is_void.float().mean(1)
        if self._recipe.most_refills:
            rollouts, found["replaced"], tokens = self._refill(rollouts, number)
            found["rollout_tokens"] = found["rollout_tokens"] + tokens
        shape = (rollouts.mask.shape[1], self._game.slots)
        noise = draw(generators, shape).to(self._device) if self._learner.has_noise else None
        found |= self._learner.learn(rollouts, number, noise)
        values = torch.stack([one.float() for one in found.values()]).cpu()
        metrics = dict(zip(found, values, strict=True))
        if self._recipe.monitor.action == "adapt":
            self._adapt(number, metrics)
            metrics["temperature"] = self._learner.temperature.flatten().cpu()
        return metrics

    def _refill(self, rollouts: Rollouts, number: int) -> tuple[Rollouts, Tensor, Tensor]:
        """Play extra prompts in place of groups whose returns do not differ, in some rounds.

        Returns:
            The rollouts, the replaced groups as a fraction of all, and the extra tokens.
        """
        task, recipe, warmth = self._task, self._recipe, self._learner.temperature
        generators = make_generators("refills", [f"{run}-{number}" for run in self._runs])
        replaced = tokens = torch.zeros(len(self._runs), device=self._device)
        for round_number in range(recipe.most_refills):
            flat = rollouts.find_deviations() <= recipe.filter.eps
            flat = flat & (round_number < self._refills)
            count = flat.sum(1)
            if not (largest := int(count.max())):
                break
            # Each run draws for all groups, so that it does not depend on the others.
            which = draw(generators, (task.groups,), len(self._bank)).to(self._device)
            boards = self._bank[which]
            extra = self._play(self._game, boards, task.samples, generators, warmth, largest)
            rollouts = replace_groups(rollouts, extra, flat)
            replaced = replaced + count / task.groups
            is_used = torch.arange(largest * task.samples, device=self._device) // task.samples
            is_used = is_used < count[:, None]
            tokens = tokens + (extra.mask.sum(2) * is_used).sum(1)
        return rollouts, replaced, tokens

    def _adapt(self, number: int, metrics: Mapping[str, Tensor]) -> None:
        """Give each run the settings of the trainer after its warnings."""
        learner = self._learner
        # Without a step of any run there are no metrics of the losses.
        watched = {name: metrics[curve] for name, curve in WATCHED.items() if curve in metrics}
        for run, monitor in enumerate(self._monitors):
            line = {name: float(values[run]) for name, values in watched.items()}
            for warning in monitor.take({"iteration": number + 1, **line}):
                self._adaptations[run].take(warning)
        settings = [one.settings for one in self._adaptations]
        learner.updates = [one.updates for one in settings]
        warmth = torch.tensor([one.temperature for one in settings])
        learner.temperature = warmth.to(self._device)[:, None, None]
        refills = torch.tensor([one.refills for one in settings])
        self._refills = refills.to(self._device)[:, None]

    def _play(
        self,
        game: AnyGame,
        boards: Tensor,
        samples: int,
        generators: list[torch.Generator],
        temperature: Tensor | float,
        groups: int | None = None,
    ) -> Rollouts:
        """Play on the first boards, by default on all; random numbers are drawn for all."""
        budget, count, learner = game.budget, boards.shape[1] * samples, self._learner
        boards = boards[:, :groups]
        rows = boards.shape[1] * samples
        noise = draw(generators, (count, game.noise_count))[:, :rows]
        tokens = draw(generators, (count, budget.max_turns, game.answer_tokens))[:, :rows]
        drawn = Chances(noise.to(self._device), tokens.to(self._device))
        return play(learner.model, learner.weights, game, boards, samples, drawn, temperature)

    def _test(self) -> NDArray[np.float32]:
        """Return success on held-out instances, each played once, with the same noise for all.

        The temperature is 1 in every arm, so that those of other rollouts can be compared.
        """
        game = find_game(self._task, test=True)
        generators = [make_generators("test", [game.name])[0] for _ in self._runs]
        boards = self._held_out.expand(len(self._runs), *self._held_out.shape)
        rollouts = self._play(game, boards, 1, generators, 1.0)
        return rollouts.success.float().mean(1).cpu().numpy()


def _now(device: torch.device) -> float:
    """Return the seconds of this process's core, or of the clock after the GPU's work."""
    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()
