"""Turns of rollouts at a frozen policy: their true advantages, and what each estimate gives.

Several batches play the same prompts, so that the error of an estimate can be split in two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ragen_starpo.credit.continuations import Continuations, Truth, find_truth
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.games.game import draw, make_generator
from ragen_starpo.laboratory.learning import Learner, compute_advantages
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Chances, Rollouts, play
from ragen_starpo.laboratory.run import SHAPE, TRAIN
from ragen_starpo.laboratory.settings import read_arm
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.studies.definition import Task

ENSEMBLE = 4
"""Critics of an ensemble. Each learns from as many rollouts as an iteration has, drawn from them
with replacement (a bootstrap)."""


class CriticKey(NamedTuple):
    """The settings in which critics differ; credit and discount decide their returns."""

    credit: str = "turn"
    gamma_turn: float = 1.0
    ensemble: int = 1  # number of critics whose values have a mean

    def make_recipe(self) -> Recipe:
        """Return the recipe of an arm whose critic learns whole returns, with a lambda of 1."""
        estimator = "gae" if self.gamma_turn == 1 else "bi-level-gae"
        return read_arm(
            [
                f'advantage.estimator="{estimator}"',
                f'advantage.credit="{self.credit}"',
                f"advantage.gamma_turn={self.gamma_turn}",
                "advantage.lam=1.0",
            ]
        )


@dataclass(frozen=True)
class EstimatorVariant:
    """An advantage estimator, its settings, and the number of critics whose mean value it uses."""

    estimator: str
    settings: tuple[str, ...] = ()
    ensemble: int = 1

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe of an arm with this estimator."""
        return read_arm([f'advantage.estimator="{self.estimator}"', *self.settings])

    @property
    def critic(self) -> CriticKey | None:
        """The critic that the estimate needs, if any."""
        if not self.recipe.has_critic:
            return None
        settings = self.recipe.advantage
        discount = settings.gamma_turn if settings.estimator == "bi-level-gae" else 1.0
        return CriticKey(settings.credit, discount, self.ensemble)


@dataclass(frozen=True)
class Size:
    """Sizes of a comparison, and the seed of all random numbers; see the options of `credit`."""

    batches: int = 8
    groups: int = 8
    samples: int = 16
    continuations: int = 256
    critic_iterations: int = 40
    seed: int = 0


@dataclass(frozen=True)
class Turns:
    """Turns of all batches with their truth and estimates; tensors are (turns,).

    Attributes:
        estimates: Advantages of the turns' first tokens, by name of the estimate. Before these a
            critic has read the same as the truth's V.
        critic_error: Root mean squared error of the values of a single critic of turns.
    """

    truth: Tensor  # true advantages
    variance: Tensor  # squared standard errors of the truth
    position: Tensor  # number of the turn in its episode
    success: Tensor  # success rate of the turn's group
    batch: Tensor  # number of the batch
    pair: Tensor  # number of the pair of history and answer
    estimates: Mapping[str, Tensor]
    critic_error: float


def collect_turns(
    task: Task, weights: Weights, size: Size, estimates: Mapping[str, EstimatorVariant]
) -> Turns:
    """Play, and return the turns of all batches with their truth and estimates.

    Args:
        task: The game.
        weights: The frozen policy, (1, ...).
        size: How much is played.
        estimates: Estimates by name; one of them needs the critic `CriticKey()`.
    """
    player = _Player(task, weights, size)
    boards = player.draw_boards("rollouts").repeat(
        1, size.batches, *[1] * (player.boards.dim() - 1)
    )
    rollouts, noise = player.play(boards, "rollouts")
    truth = player.find_truth(rollouts, boards, noise)
    critics = _train_critics(estimates, player)
    every = torch.arange(rollouts.success.shape[1])
    values = {
        key: critic.find_values(_choose(rollouts, every.expand(key.ensemble, -1))).mean(0)
        for key, critic in critics.items()
    }
    batches = replace(
        rollouts,
        **{
            name: one.view(size.batches, -1, *one.shape[2:]) for name, one in vars(rollouts).items()
        },
    )
    is_turn = truth.pairs >= 0
    row, position = is_turn.nonzero(as_tuple=True)
    found = {}
    for name, estimate in estimates.items():
        key = estimate.critic
        given = None if key is None else values[key].view(batches.mask.shape)
        kept = torch.ones_like(batches.success)
        advantages, _ = compute_advantages(estimate.recipe.advantage, batches, kept, given)
        found[name] = _find_firsts(advantages.flatten(0, 1), rollouts, truth)[is_turn]
    first = _find_firsts(values[CriticKey()], rollouts, truth)[is_turn]
    error = (first - truth.values[is_turn]).square() - truth.value_variances[is_turn]
    return Turns(
        truth=truth.advantages[is_turn],
        variance=truth.variances[is_turn],
        position=position,
        success=_find_success(rollouts)[row],
        batch=row // (size.groups * size.samples),
        pair=truth.pairs[is_turn],
        estimates=found,
        critic_error=find_root(error.mean()),
    )


class _Player:
    """Plays a frozen policy, with random numbers of its own for each purpose."""

    def __init__(self, task: Task, weights: Weights, size: Size) -> None:
        self.weights, self.size = weights, size
        self.game = find_game(task)
        self.model = StackedModel(SHAPE, self.game.vocabulary)
        self.boards = self.game.load(TRAIN)
        self._temperature = read_arm(()).rollouts.temperature
        purposes = ("rollouts", "continuations", "critic")
        self._generators = {
            name: make_generator("credit", name, str(size.seed)) for name in purposes
        }

    def draw_boards(self, purpose: str) -> Tensor:
        """Return the boards of a batch, (1, groups, ...)."""
        return self.boards[draw([self._generators[purpose]], (self.size.groups,), len(self.boards))]

    def play(self, boards: Tensor, purpose: str) -> tuple[Rollouts, Tensor]:
        """Return rollouts on boards, (1, groups, ...), and the noise of their games."""
        game, some = self.game, [self._generators[purpose]]
        count = boards.shape[1] * self.size.samples
        noise = draw(some, (count, game.noise_count))
        tokens = draw(some, (count, game.budget.max_turns, game.answer_tokens))
        samples, drawn = self.size.samples, Chances(noise, tokens)
        rollouts = play(self.model, self.weights, game, boards, samples, drawn, self._temperature)
        return rollouts, noise

    def find_truth(self, rollouts: Rollouts, boards: Tensor, noise: Tensor) -> Truth:
        """Return the truth of the turns of rollouts that were played with this noise."""
        continuations = Continuations(
            *(self.model, self.weights, self.game, self.size.continuations),
            *(self._generators["continuations"], self._temperature),
        )
        state = self.game.start(boards.repeat_interleave(self.size.samples, 1), noise)
        prompts = rollouts.groups[0] % self.size.groups
        return find_truth(continuations, rollouts, state, prompts)


def _train_critics(
    estimates: Mapping[str, EstimatorVariant], player: _Player
) -> dict[CriticKey, Learner]:
    """Train the critics that the estimates need, all from the same rollouts of the policy."""
    critics: dict[CriticKey, Learner] = {}
    for estimate in estimates.values():
        if (key := estimate.critic) and key not in critics:
            copies = {
                name: weight.expand(key.ensemble, *weight.shape[1:])
                for name, weight in player.weights.items()
            }
            critics[key] = Learner(player.model, key.make_recipe(), copies)
    bootstrap = make_generator("credit", "bootstrap", str(player.size.seed))
    for number in range(player.size.critic_iterations):
        rollouts, _ = player.play(player.draw_boards("critic"), "critic")
        rows = rollouts.success.shape[1]
        drawn = draw([bootstrap], (ENSEMBLE, rows), rows)[0]
        for key, critic in critics.items():
            index = drawn if key.ensemble > 1 else torch.arange(rows)[None]
            critic.learn(_choose(rollouts, index), number, critic_only=True)
    return critics


def _choose(rollouts: Rollouts, index: Tensor) -> Rollouts:
    """Return some rollouts of a single seed for each of several, given by their rows, (S, R)."""
    return replace(rollouts, **{name: one[0][index] for name, one in vars(rollouts).items()})


def _find_firsts(column: Tensor, rollouts: Rollouts, truth: Truth) -> Tensor:
    """Return a column, (R, T), at the first sampled token of each turn, (R, turns)."""
    mask, turns = rollouts.mask[0] > 0, rollouts.turns[0]
    # Sampled tokens of a turn stand behind each other.
    first = mask & ~torch.nn.functional.pad(mask, (1, 0))[:, :-1]
    zeros = torch.zeros_like(truth.values)
    return zeros.scatter_add(1, turns, torch.where(first, column.double(), 0.0))


def _find_success(rollouts: Rollouts) -> Tensor:
    """Return the success rate of each rollout's group, (R,)."""
    groups, success = rollouts.groups[0], rollouts.success[0].float()
    zeros = torch.zeros(int(groups.max()) + 1)
    return zeros.scatter_reduce(0, groups, success, "mean", include_self=False)[groups]


def find_root(square: Tensor) -> float:
    """Return the square root; 0 for an estimate of a square that is below 0."""
    return float(square.clamp(min=0).sqrt())
