"""An iteration of the local driver beside a plain loop and the arithmetic limit, as Markdown.

    python benchmarks/trainer_speed.py [--recipe small] [--env ID ...] [--rounds N] [NAME=VALUE ...]

The two take turns on one thread; the definitions of the counts are printed under the table.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import plain_loop
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ragen_starpo.local.trainer import Trainer
from ragen_starpo.recipes.recipe import Recipe, read_recipe
from ragen_starpo.rollout.episodes import rollout_specs
from ragen_starpo.rollout.selection import select_rollouts
from ragen_starpo.rollout.trajectory import TokenTrajectory, batch_of

MODEL = Path(__file__).parents[1] / "ragen_bench" / "models" / "demo_agent"
ENVS = ("Sokoban-v0", "FrozenLake-v0")
TARGET = 1.3
SAME_TOKENS, SAME_WEIGHTS = 1e-3, 1e-3
"""How far rounding may move a log-probability, and a weight, as a share of what a step moves it."""

NOTES = """\
- Seconds of CPU of this process on one thread, the median of the rounds after one to warm up; the
  ratio is the median of the rounds' own. A round is an iteration of the driver, then the plain
  loop's, which plays the same episodes with the same tokens and learns from the same trajectories
  with the weights of the driver; that it does is checked by log-probabilities and new weights.
- Rollouts: environments, chat template, keys and values kept between turns, sampling. Learning: all
  else, for the driver also its figures and records and the copy of the weights that plays.
- The limit is the time of the driver's matrix products and attentions alone: those of one iteration
  are recorded with their shapes, and repeated on random numbers. Nothing else is computed.
- The plain loop is `benchmarks/plain_loop.py`: transformers with a DynamicCache, all conversations
  turn by turn side by side, torch's AdamW; nothing is retried, recorded or measured."""


Shapes = tuple[tuple[int, ...], ...]


class RecordProducts(TorchDispatchMode):
    """Counts matrix products and attentions by their shapes, of the backward pass too."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[tuple[Any, Shapes]] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in PRODUCTS:
            self.counts[
                func, tuple(tuple(one.shape) for one in args if isinstance(one, Tensor))
            ] += 1
        return func(*args, **(kwargs or {}))

    def seconds(self) -> float:
        """Return the seconds of CPU that all products take by themselves."""
        total = 0.0
        for (func, shapes), count in self.counts.items():
            inputs = [torch.randn(shape) for shape in shapes]
            product = PRODUCTS[func]
            product(*inputs)
            repeats = max(3, min(count, 20))
            total += count / repeats * spent(lambda: [product(*inputs) for _ in range(repeats)])  # noqa: B023
        return total


def attend(query: Tensor, key: Tensor, value: Tensor, *_: Tensor) -> Tensor:
    """Return causal attention."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def attend_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Tensor
) -> None:
    """Compute two attentions, which have the products of a backward pass without recomputation."""
    attend(query, key, value)
    attend(gradient, key, value)


_ATEN: Any = torch.ops.aten
_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
PRODUCTS: dict[Any, Callable[..., object]] = {
    _ATEN.mm.default: torch.mm,
    _ATEN.bmm.default: torch.bmm,
    _ATEN.addmm.default: torch.addmm,
    getattr(_ATEN, _ATTENTION).default: attend,
    getattr(_ATEN, f"{_ATTENTION}_backward").default: attend_backward,
}


class Round:
    """The driver and the plain loop on the same weights, an iteration each at a time."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._trainer = Trainer(MODEL, recipe)
        self._rollouts = plain_loop.PlainRollouts(MODEL, recipe)
        self._learning = plain_loop.PlainLearning(MODEL, recipe)

    def play(self, number: int) -> dict[str, tuple[float, float]]:
        """Return the seconds of the driver and of the plain loop, by part; none without a step."""
        recipe, trainer = self._recipe, self._trainer
        self._take_weights()
        played: list[TokenTrajectory] = []
        seconds: list[float] = []
        actor: Any = trainer._actor  # noqa: SLF001 - its part of the iteration is counted apart
        rollouts = actor.rollouts

        def watched(iteration: int, temperature: float) -> list[TokenTrajectory]:
            seconds.append(spent(lambda: played.extend(rollouts(iteration, temperature))))
            return played

        actor.rollouts = watched
        whole = spent(lambda: trainer.iterate(number))
        del actor.rollouts
        specs = rollout_specs(recipe.env_cycle, recipe.rollouts, recipe.seed, number)
        told: list[list[list[float]]] = []
        plain = spent(lambda: told.extend(self._rollouts.play(specs, played)))
        check_tokens(played, told)
        is_kept = select_rollouts(recipe.filter, played)
        kept = [rollout for rollout, keep in zip(played, is_kept, strict=True) if keep]
        if not kept:
            return {}
        before = {name: row.clone() for name, row in self._learning.policy.state_dict().items()}
        learned = spent(lambda: self._learning.learn(batch_of(kept, 0), number))
        self._check(before)
        return {
            "rollouts": (seconds[0], plain),
            "learning": (whole - seconds[0], learned),
            "iteration": (whole, plain + learned),
        }

    def limit(self, number: int) -> float:
        """Return the seconds of an iteration's matrix products alone."""
        with RecordProducts() as products:
            self._trainer.iterate(number)
        return products.seconds()

    def _take_weights(self) -> None:
        trainer: Any = self._trainer
        weights = trainer.policy.state_for_rollout()
        self._rollouts.model.load_state_dict(weights)
        self._learning.policy.load_state_dict(weights)
        self._learning.critic.load_state_dict(trainer.critic._backend.state())  # noqa: SLF001

    def _check(self, before: dict[str, torch.Tensor]) -> None:
        ours, plain = self._trainer.policy.state_for_rollout(), self._learning.policy.state_dict()
        moved = max(float((ours[name] - before[name]).abs().max()) for name in before)
        apart = max(float((ours[name] - plain[name]).abs().mean()) for name in before)
        assert apart < SAME_WEIGHTS * moved, f"weights moved by {moved} and differ by {apart}"


def check_tokens(played: Sequence[TokenTrajectory], told: Sequence[list[list[float]]]) -> None:
    """Check that the plain loop's log-probabilities are those of the driver."""
    for trajectory, answers in zip(played, told, strict=True):
        for turn, answer in zip(trajectory.turns, answers, strict=True):
            ours = torch.tensor(turn.sampled.log_probs)
            apart = float((ours - torch.tensor(answer)).abs().max())
            assert apart < SAME_TOKENS, f"log-probabilities differ by {apart}"


def spent(work: Callable[[], object]) -> float:
    """Return the seconds of CPU that the work takes."""
    begin = process_time()
    work()
    return process_time() - begin


def measure(env: str, options: argparse.Namespace) -> None:
    """Print the rows of an environment."""
    overrides = [f'envs=["{env}"]', *options.settings]
    rounds = Round(read_recipe(options.recipe, overrides))
    rounds.play(0)
    counted: list[dict[str, tuple[float, float]]] = []
    number = 0
    while len(counted) < options.rounds:
        number += 1
        if number > 10 * options.rounds:
            raise SystemExit(f"{env}: too few rounds had a group to learn from; try other settings")
        if of_round := rounds.play(number):
            counted.append(of_round)
    for part in counted[0]:
        pairs = [of_round[part] for of_round in counted]
        ours, plain = median(ours for ours, _ in pairs), median(plain for _, plain in pairs)
        ratio = median(ours / plain for ours, plain in pairs)
        print(f"| {env} | {part} | {ours:.3f} | {plain:.3f} | {ratio:.2f}x | |", flush=True)
    limit = rounds.limit(number)
    whole = median(of_round["iteration"][0] for of_round in counted)
    print(f"| {env} | limit | {limit:.3f} | | | {whole / limit:.1f}x |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipe", default="small", help="with a critic and all weights trained")
    parser.add_argument("--env", action="append", dest="envs", help="ids")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("settings", nargs="*", help="NAME=VALUE of the recipe")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print("| environment | part | driver, s | plain loop, s | ratio | over the limit |")
    print("| --- | --- | ---: | ---: | ---: | ---: |", flush=True)
    for env in options.envs or ENVS:
        measure(env, options)
    print(f"\nTarget: {TARGET}x for the iteration; load {os.getloadavg()[0]:.1f}.\n\n{NOTES}")


if __name__ == "__main__":
    main()
