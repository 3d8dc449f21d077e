"""A recipe from its first iteration, or its latest checkpoint, to its last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor, TrapWarning
from ragen_starpo.engine.folders import replaced
from ragen_starpo.local.clock import Clock
from ragen_starpo.local.run import TrainingRun
from ragen_starpo.local.trainer import Iteration, Trainer
from ragen_starpo.recipe import Recipe

Listener = Callable[[Iteration], None]
Warned = Callable[[TrapWarning], None]


class Trains(Protocol):
    """A driver: what iterates, in one process or in many."""

    def iterate(self, number: int) -> Iteration:
        """Play, and learn from what is played; numbers count from 0."""

    def validate(self, folder: Path) -> dict[str, float]:
        """Return held-out figures as `held_out` does; the folder may be written to."""

    def save(self, folder: Path) -> None:
        """Write the model as a folder that transformers reads."""

    def save_checkpoint(self, folder: Path) -> None:
        """Write all that the next iterations depend on."""

    def load_checkpoint(self, folder: Path) -> None:
        """Go on from a checkpoint."""


def train(
    recipe: Recipe,
    folder: Path,
    out: Path,
    told: Listener = lambda iteration: None,
    warned: Warned = lambda warning: None,
) -> TrainingRun:
    """Train in one process to the recipe's last iteration; the same call resumes a killed run.

    Args:
        recipe: of the run.
        folder: of the model that training begins with.
        out: the directory of the run.
        told: called after each iteration.
        warned: called with each warning of the echo trap.

    Returns:
        The run.

    Raises:
        UserError: if the directory, the model or an environment is not what it should be; and as
            `go_on` does.
    """
    run = TrainingRun(out, recipe)
    go_on(recipe, Trainer(folder, recipe), run, told, warned)
    return run


def go_on(
    recipe: Recipe, trainer: Trains, run: TrainingRun, told: Listener, warned: Warned
) -> None:
    """Iterate from the latest checkpoint, or the first iteration, to the last one.

    Args:
        recipe: of the run.
        trainer: as it is made.
        run: where all of it is written.
        told: called after each iteration.
        warned: called with each warning of the echo trap.

    Raises:
        UserError: if the filter left nothing for too many iterations in a row, or if a warning was
            confirmed that ends the run.
    """
    first = _resumed(run, trainer)
    monitor = EchoTrapMonitor(recipe.monitor)
    for line in run.lines("metrics.jsonl"):
        monitor.take(line)
    for number in range(first, recipe.iterations):
        iteration = _validated(trainer.iterate(number), trainer, run, recipe)
        line = {"iteration": number, **iteration.metrics}
        run.append("metrics.jsonl", line)
        run.append("timings.jsonl", {"iteration": number, **iteration.seconds})
        told(iteration)
        for warning in monitor.take(line):
            run.append("warnings.jsonl", asdict(warning))
            warned(warning)
            _heed(warning, run, recipe)
        _see_that_it_learns(run, recipe)
        if _due(number + 1, recipe.checkpoint_every):
            with replaced(run.checkpoint(number + 1)) as draft:
                trainer.save_checkpoint(draft)
    trainer.save(run.path / "final")


def _resumed(run: TrainingRun, trainer: Trains) -> int:
    """Load the latest checkpoint, if there is one, and return the next iteration."""
    resumed = run.resume()
    if resumed is None:
        return 0
    first, checkpoint = resumed
    trainer.load_checkpoint(checkpoint)
    return first


def _validated(
    iteration: Iteration, trainer: Trains, run: TrainingRun, recipe: Recipe
) -> Iteration:
    """Return the iteration with held-out figures, where they are due; keep the best model."""
    if not _due(iteration.number + 1, recipe.validation.every):
        return iteration
    clock = Clock()
    found = clock.during("validation", lambda: trainer.validate(run.path / "latest"))
    best = max((line.get("val/success", -1.0) for line in run.lines("metrics.jsonl")), default=-1.0)
    if found["success"] > best:
        trainer.save(run.path / "best")
    metrics = {**iteration.metrics, **{f"val/{name}": value for name, value in found.items()}}
    return Iteration(
        iteration.number, iteration.learned, metrics, {**iteration.seconds, **clock.seconds}
    )


def _see_that_it_learns(run: TrainingRun, recipe: Recipe) -> None:
    """Stop a run in which no group's returns differ any more.

    Raises:
        UserError: if the last iterations had nothing to learn from.
    """
    last = list(run.lines("metrics.jsonl"))[-recipe.give_up_after :]
    if len(last) == recipe.give_up_after and all(line["filter/kept"] == 0 for line in last):
        raise UserError(
            f"in {len(last)} iterations in a row all rollouts of an instance had the same return, "
            "so nothing is left to learn from; begin with a model that sometimes succeeds, or "
            "raise rollouts.samples or rollouts.temperature",
            exit_code=1,
        )


def _heed(warning: TrapWarning, run: TrainingRun, recipe: Recipe) -> None:
    """Stop a run in the echo trap, if its recipe says so.

    Raises:
        UserError: with the warning.
    """
    if warning.kind == "confirmed" and recipe.monitor.action == "stop":
        best = run.path / "best"
        kept = f"The best model so far is in {best}" if best.is_dir() else "No model was validated"
        raise UserError(f"stopped as the recipe says. {warning.text} {kept}", exit_code=1)


def _due(done: int, every: int) -> bool:
    return every > 0 and done % every == 0
