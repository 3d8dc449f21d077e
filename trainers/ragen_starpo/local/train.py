"""`ragen-train local`: a recipe from its first iteration, or its latest checkpoint, to its last."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor, TrapWarning
from ragen_starpo.engine.folders import replaced
from ragen_starpo.local.clock import Clock
from ragen_starpo.local.run import TrainingRun
from ragen_starpo.local.trainer import Iteration, Trainer
from ragen_starpo.local.validation import validate
from ragen_starpo.recipe import Recipe

Listener = Callable[[Iteration], None]
Warned = Callable[[TrapWarning], None]


def train(
    recipe: Recipe,
    folder: Path,
    out: Path,
    told: Listener = lambda iteration: None,
    warned: Warned = lambda warning: None,
) -> TrainingRun:
    """Train to the recipe's last iteration; the same call goes on where a killed one ended.

    Args:
        recipe: of the run.
        folder: of the model that training begins with.
        out: the directory of the run.
        told: called after each iteration.
        warned: called with each warning of the echo trap.

    Returns:
        The run.

    Raises:
        UserError: if the directory, the model or an environment is not what it should be, or if the
            filter left nothing for too many iterations in a row, or if a warning was confirmed that
            ends the run.
    """
    run = TrainingRun(out, recipe)
    trainer = Trainer(folder, recipe)
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
    trainer.policy.save(out / "final")
    return run


def _resumed(run: TrainingRun, trainer: Trainer) -> int:
    """Load the latest checkpoint, if there is one, and return the next iteration."""
    resumed = run.resume()
    if resumed is None:
        return 0
    first, checkpoint = resumed
    trainer.load_checkpoint(checkpoint)
    return first


def _validated(
    iteration: Iteration, trainer: Trainer, run: TrainingRun, recipe: Recipe
) -> Iteration:
    """Return the iteration with held-out figures, where they are due; keep the best model."""
    if not _due(iteration.number + 1, recipe.validation.every):
        return iteration
    clock = Clock()
    folder = run.path / "latest"
    trainer.policy.save(folder)
    found = clock.during("validation", lambda: validate(folder, recipe))
    best = max((line.get("val/success", -1.0) for line in run.lines("metrics.jsonl")), default=-1.0)
    if found["success"] > best:
        with replaced(run.path / "best") as draft:
            shutil.copytree(folder, draft, dirs_exist_ok=True)
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
