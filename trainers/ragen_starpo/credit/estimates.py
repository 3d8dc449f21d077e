"""Advantage estimators against the true advantages of turns, at a frozen policy.

Several batches play the same prompts, so that the error of an estimate has two parts: what all
batches share for equal histories and answers (bias), and the rest (standard deviation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from scipy.stats import spearmanr
from torch import Tensor

from ragen_bench.json_types import JsonObject
from ragen_starpo.credit.continuations import Continuations, Truth, find_truth
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.games.game import draw, make_generator
from ragen_starpo.laboratory.learning import Learner, compute_advantages
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Chances, Rollouts, play
from ragen_starpo.laboratory.run import SHAPE, TRAIN, read_arm
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.studies.definition import Task

_TURN = 'advantage.credit="turn"'
CRITICS = 4
"""Critics of an ensemble. Each learns from as many rollouts as an iteration has, drawn from them
with replacement (a bootstrap), and an estimate uses their mean value."""
ESTIMATES: Mapping[str, tuple[str, ...]] = {
    "grpo": (),
    "dr-grpo": (),
    "rloo": (),
    "reinforce-plus-plus": (),
    "reinforce-plus-plus, credit turn": (_TURN,),
    "reinforce-plus-plus-baseline": (),
    "gae": (),
    "gae, credit turn": (_TURN,),
    "gae, credit turn, lam 0.9": (_TURN, "advantage.lam=0.9"),
    f"gae, credit turn, {CRITICS} critics": (_TURN,),
    f"gae, credit turn, lam 0.9, {CRITICS} critics": (_TURN, "advantage.lam=0.9"),
    "bi-level-gae": (_TURN,),
    "bi-level-gae, gamma_turn 1, lam 0.5": (
        _TURN,
        "advantage.gamma_turn=1.0",
        "advantage.lam=0.5",
    ),
    "hybrid": (),
    "hybrid, credit turn": (_TURN,),
    "gigpo": (_TURN,),
    "turn-grpo": (_TURN,),
}
"""Settings by the name of an estimate, which begins with its estimator's, and may end with the
critics of an ensemble."""
RATES = {"none": 0.0, "up to half": 0.5, "over half": 1 - 1e-9, "all": 1.0}
"""Largest success rate of the groups of a class."""


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
    """

    truth: Tensor  # true advantages
    variance: Tensor  # squared standard errors of the truth
    position: Tensor  # number of the turn in its episode
    success: Tensor  # success rate of the turn's group
    batch: Tensor  # number of the batch
    pair: Tensor  # number of the pair of history and answer
    estimates: Mapping[str, Tensor]


def compare_estimators(task: Task, weights: Weights, size: Size) -> JsonObject:
    """Return the metrics of all estimates at a frozen policy, weights (1, ...)."""
    turns, critic_error = collect_turns(task, weights, size)
    spread = turns.truth.square().mean() - turns.variance.mean()
    classes: dict[str, Tensor] = {"all": torch.ones_like(turns.pair, dtype=torch.bool)}
    for position in range(int(turns.position.max()) + 1):
        classes[f"turn {position + 1}"] = turns.position == position
    least = -1.0
    for name, most in RATES.items():
        classes[f"success {name}"] = (turns.success > least) & (turns.success <= most)
        least = most
    return {
        "turns": len(turns.truth),
        "pairs": len(set(turns.pair.tolist())),
        "truth_rms": _root(spread),
        "truth_error": _root(turns.variance.mean()),
        "critic_error": critic_error,
        "estimates": {
            name: {
                label: measure(estimate, turns, where)
                for label, where in classes.items()
                if where.any()
            }
            for name, estimate in turns.estimates.items()
        },
    }


def collect_turns(task: Task, weights: Weights, size: Size) -> tuple[Turns, float]:
    """Return the turns of all batches, and the root mean squared error of a critic's values."""
    game = find_game(task)
    model = StackedModel(SHAPE, game.vocabulary)
    bank = game.load(TRAIN)
    chances = {
        name: make_generator("credit", name, str(size.seed))
        for name in ("rollouts", "continuations", "critic")
    }
    temperature = read_arm(()).rollouts.temperature

    def roll(boards: Tensor, purpose: str) -> tuple[Rollouts, Tensor]:
        count, some = boards.shape[1] * size.samples, [chances[purpose]]
        noise = draw(some, (count, game.chances))
        tokens = draw(some, (count, game.budget.max_turns, game.answer_tokens))
        drawn = Chances(noise, tokens)
        return play(model, weights, game, boards, size.samples, drawn, temperature), noise

    prompts = draw([chances["rollouts"]], (size.groups,), len(bank))
    boards = bank[prompts].repeat(1, size.batches, *[1] * (bank.dim() - 1))
    rollouts, noise = roll(boards, "rollouts")
    continuations = Continuations(
        *(model, weights, game, size.continuations),
        *(chances["continuations"], temperature),
    )
    state = game.start(boards.repeat_interleave(size.samples, 1), noise)
    truth = find_truth(continuations, rollouts, state, rollouts.groups[0] % size.groups)
    groups = torch.zeros(len(boards[0])).scatter_reduce(
        0, rollouts.groups[0], rollouts.success[0].float(), "mean", include_self=False
    )
    is_turn = truth.pairs >= 0
    row, position = is_turn.nonzero(as_tuple=True)
    batches = replace(
        rollouts,
        **{
            name: one.view(size.batches, -1, *one.shape[2:]) for name, one in vars(rollouts).items()
        },
    )
    recipes = {
        name: read_arm([f'advantage.estimator="{name.partition(",")[0]}"', *settings])
        for name, settings in ESTIMATES.items()
    }

    def roll_anew() -> Rollouts:
        which = draw([chances["critic"]], (size.groups,), len(bank))
        return roll(bank[which], "critic")[0]

    critics = _train_critics(recipes, model, weights, size, roll_anew)
    every = torch.arange(rollouts.success.shape[1])
    values = {
        target: critic.find_values(_choose(rollouts, every.expand(target.critics, -1))).mean(0)
        for target, critic in critics.items()
    }
    kept, estimates = torch.ones_like(batches.success), {}
    for name, recipe in recipes.items():
        given = values[_find_target(name, recipe)] if recipe.has_critic else None
        given = None if given is None else given.view(batches.mask.shape)
        found, _ = compute_advantages(recipe.advantage, batches, kept, given)
        estimates[name] = _find_firsts(found.flatten(0, 1), rollouts, truth)[is_turn]
    turns = Turns(
        truth.advantages[is_turn],
        truth.variances[is_turn],
        position,
        groups[rollouts.groups[0]][row],
        row // (size.groups * size.samples),
        truth.pairs[is_turn],
        estimates,
    )
    first = _find_firsts(values[_Target("turn", 1.0, 1)], rollouts, truth)[is_turn]
    errors = (first - truth.values[is_turn]).square() - truth.value_variances[is_turn]
    return turns, _root(errors.mean())


def _train_critics(
    recipes: Mapping[str, Recipe],
    model: StackedModel,
    weights: Weights,
    size: Size,
    roll_anew: Callable[[], Rollouts],
) -> dict[_Target, Learner]:
    """Train the critics that the estimates need, all from the same rollouts of the policy."""
    critics: dict[_Target, Learner] = {}
    for name, recipe in recipes.items():
        # The first estimate of a target has no lambda, so critics learn whole returns.
        if recipe.has_critic and (target := _find_target(name, recipe)) not in critics:
            copies = {
                one: weight.expand(target.critics, *weight.shape[1:])
                for one, weight in weights.items()
            }
            critics[target] = Learner(model, recipe, copies)
    bootstrap = make_generator("credit", "bootstrap", str(size.seed))
    for number in range(size.critic_iterations):
        rollouts = roll_anew()
        rows = rollouts.success.shape[1]
        drawn = draw([bootstrap], (CRITICS, rows), rows)[0]
        for target, critic in critics.items():
            index = drawn if target.critics > 1 else torch.arange(rows)[None]
            critic.learn(_choose(rollouts, index), number, critic_only=True)
    return critics


class _Target(NamedTuple):
    """The settings in which critics differ; credit and discount decide their returns."""

    credit: str
    gamma_turn: float
    critics: int  # number of critics whose values have a mean


def _find_target(name: str, recipe: Recipe) -> _Target:
    settings = recipe.advantage
    discount = settings.gamma_turn if settings.estimator == "bi-level-gae" else 1.0
    return _Target(settings.credit, discount, CRITICS if name.endswith("critics") else 1)


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


def measure(estimate: Tensor, turns: Turns, where: Tensor) -> JsonObject:
    """Return metrics of an estimate on some turns.

    It is scaled once for all turns, so that its squared error is least. Squared errors are less
    the truth's own. An estimate has the wrong sign, or none, among turns whose truth is beyond two
    standard errors from 0.
    """
    scale = (estimate * turns.truth).sum() / estimate.square().sum().clamp(min=1e-12)
    truth, noise, given = turns.truth[where], turns.variance[where], estimate[where]
    error = scale * given - truth
    is_sure = truth.abs() > 2 * noise.sqrt() + 1e-6
    signs = (given.sign() * truth.sign())[is_sure]
    correlation = (
        float(spearmanr(given.numpy(), truth.numpy()).statistic)
        if bool((given != given[0]).any()) and bool((truth != truth[0]).any())
        else None
    )
    bias, deviation = split_error(error, noise, turns.pair[where], turns.batch[where])
    return {
        "turns": len(truth),
        "sure": len(signs),
        "mean_error": float(error.mean()),
        "bias": bias,
        "deviation": deviation,
        "rmse": _root((error.square() - noise).mean()),
        "spearman": correlation,
        "wrong_sign": float((signs < 0).double().mean()) if len(signs) else None,
        "no_sign": float((signs == 0).double().mean()) if len(signs) else None,
    }


def split_error(
    error: Tensor, noise: Tensor, pair: Tensor, batch: Tensor
) -> tuple[float | None, float | None]:
    """Return root mean squares of the errors that batches share, and of the rest.

    Only turns count whose pair of history and answer occurs in several batches: the mean product
    of the errors of two batches is the square of what they share.
    """
    _, of_pair = torch.unique(pair, return_inverse=True)
    cell = of_pair * (int(batch.max()) + 1) + batch
    _, cell = torch.unique(cell, return_inverse=True)
    pairs, cells = int(of_pair.max()) + 1, int(cell.max()) + 1

    def total(values: Tensor, index: Tensor, count: int) -> Tensor:
        return torch.zeros(count, dtype=torch.float64).index_add(0, index, values.double())

    of_cell = torch.zeros(cells, dtype=torch.long).scatter(0, cell, of_pair)
    ones = torch.ones_like(error)
    count = total(ones, of_pair, pairs)
    others = count.square() - total(total(ones, cell, cells).square(), of_cell, pairs)
    products = total(error, of_pair, pairs).square()
    products = products - total(total(error, cell, cells).square(), of_cell, pairs)
    shared = products / others.clamp(min=1) - total(noise, of_pair, pairs) / count
    counts = (others > 0)[of_pair]
    if not counts.any():
        return None, None
    squares = (error.square() - noise)[counts].mean()
    bias = shared[of_pair][counts].mean()
    return _root(bias), _root(squares - bias)


def _root(square: Tensor) -> float:
    return float(square.clamp(min=0).sqrt())
