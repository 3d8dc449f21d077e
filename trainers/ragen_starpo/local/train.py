"""A recipe from its first iteration, or its latest checkpoint, to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.adaptation import AdaptableSettings, Adaptation
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor, TrapWarning
from ragen_starpo.iteration import Clock, Iteration
from ragen_starpo.local.kept_rollouts import keep_rollouts
from ragen_starpo.local.run import TrainingDirectory, check_run, finished
from ragen_starpo.local.trainer import Trainer
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import MonitorSettings
from ragen_starpo.rollout.training_envs import training_pool

OnIteration: TypeAlias = Callable[[Iteration], None]


class Trains(Protocol):
    """A driver: what iterates, in one process or in many.

    Attributes:
        driver: the command's name; its checkpoints are of no use to another.
    """

    driver: str

    def adapt(self, settings: AdaptableSettings) -> None:
        """Play and learn by these settings from now on."""

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
    recipe: Recipe, folder: Path, out: Path, on_iteration: OnIteration = lambda _: None
) -> TrainingDirectory:
    """Train in one process to the recipe's last iteration.

    The same call resumes a killed run, and leaves a finished one as it is.

    Args:
        recipe: of the run.
        folder: of the model that training begins with.
        out: the directory of the run.
        on_iteration: called after each iteration.

    Returns:
        The run.

    Raises:
        UserError: if the directory, the model or an environment is not what it should be; and as
            `go_on` does.
    """
    check_run(out, recipe)
    training_pool(recipe.envs, recipe.response_format, recipe.environment)
    if finished(out, recipe.iterations):
        return TrainingDirectory(out, recipe)
    trainer = Trainer(folder, recipe)
    # Last, so that a mistake leaves no directory that the corrected command would be refused.
    run = TrainingDirectory(out, recipe)
    go_on(recipe, trainer, run, on_iteration)
    return run


def go_on(
    recipe: Recipe, trainer: Trains, run: TrainingDirectory, on_iteration: OnIteration
) -> None:
    """Iterate from the latest checkpoint, or the first iteration, to the last one.

    If the recipe has a validation, the model that training begins with is measured too, and the
    last one whether or not it is its turn.

    Args:
        recipe: of the run.
        trainer: as it is made.
        run: where all of it is written.
        on_iteration: called after each iteration.

    Raises:
        UserError: if the filter left nothing for too many iterations in a row, or if a warning was
            confirmed that ends the run: `final/` is written then too. Or if another process writes
            the run, or another driver did.
    """
    with run.held():
        _iterate(recipe, trainer, run, on_iteration)


def _iterate(
    recipe: Recipe, trainer: Trains, run: TrainingDirectory, on_iteration: OnIteration
) -> None:
    first = _resumed(run, trainer)
    if first == 0 and recipe.validation.every:
        figures = trainer.validate(run.path / "latest")
        trainer.save(run.path / "best")
        run.keep_start(_of_validation(figures))
    watch = _Watch(recipe.monitor, AdaptableSettings(recipe.rollouts.temperature, recipe.updates))
    for line in run.lines("metrics.jsonl"):
        watch.take(line)
    ended = None
    for number in range(first, recipe.iterations):
        trainer.adapt(watch.settings)
        played = trainer.iterate(number)
        _keep(played, recipe, watch.settings.temperature, run)
        played = replace(played, metrics={**played.metrics, **watch.figures()})
        iteration = _validated(played, trainer, run, recipe.validation.every, recipe.iterations)
        line = {"iteration": number, **iteration.metrics}
        run.append("metrics.jsonl", line)
        run.append("timings.jsonl", {"iteration": number, **iteration.seconds})
        if iteration.error is not None:
            groups = iteration.metrics["rollout/failed"]
            run.append(
                "failures.jsonl", {"iteration": number, "groups": groups, "error": iteration.error}
            )
        on_iteration(iteration)
        warnings = watch.take(line)
        for warning in warnings:
            run.append("warnings.jsonl", asdict(warning))
        if recipe.monitor.action == "stop":
            ended = _trapped(warnings, run)
        ended = ended or _starved(run, recipe.give_up_after)
        if ended:
            break
        if number + 1 < recipe.iterations and _due(number + 1, recipe.checkpoint_every):
            _checkpoint(trainer, run, number + 1)
    trainer.save(run.path / "final")
    if ended:
        raise UserError(ended, exit_code=1)
    # Last of all: by it a run is known to be finished.
    _checkpoint(trainer, run, recipe.iterations)


def _keep(iteration: Iteration, recipe: Recipe, temperature: float, run: TrainingDirectory) -> None:
    """Keep some of an iteration's rollouts, where it is its turn."""
    number = iteration.number
    if recipe.records.due(number):
        keep_rollouts(run.rollouts(number), recipe, number, temperature, iteration.rollouts)


class _Watch:
    """The monitor, and what its warnings change; all of it follows from `metrics.jsonl`.

    Args:
        monitor: when it warns, and what a warning does.
        settings: that a warning may change.
    """

    def __init__(self, monitor: MonitorSettings, settings: AdaptableSettings) -> None:
        self._monitor = EchoTrapMonitor(monitor)
        self._adaptation = Adaptation(monitor, settings)

    @property
    def settings(self) -> AdaptableSettings:
        """Those of the next iteration."""
        return self._adaptation.settings

    def figures(self) -> dict[str, float]:
        """Return the settings as figures, where they may change in the run."""
        return self._adaptation.metrics()

    def take(self, line: Mapping[str, Any]) -> list[TrapWarning]:
        """Return the warnings of an iteration, with what they change."""
        return [self._adaptation.take(warning) for warning in self._monitor.take(line)]


def _resumed(run: TrainingDirectory, trainer: Trains) -> int:
    """Load the latest checkpoint, if there is one, and return the next iteration."""
    resumed = run.resume(trainer.driver)
    if resumed is None:
        return 0
    first, checkpoint = resumed
    trainer.load_checkpoint(checkpoint)
    return first


def _checkpoint(trainer: Trains, run: TrainingDirectory, done: int) -> None:
    with run.checkpoint(done, trainer.driver) as draft:
        trainer.save_checkpoint(draft)


def _validated(
    iteration: Iteration, trainer: Trains, run: TrainingDirectory, every: int, iterations: int
) -> Iteration:
    """Return the iteration with held-out figures, where they are due; keep the best model."""
    done = iteration.number + 1
    if not _due(done, every) and not (every and done == iterations):
        return iteration
    clock = Clock()
    with clock.measure("validation"):
        figures = trainer.validate(run.path / "latest")
    earlier = [run.start(), *run.lines("metrics.jsonl")]
    if figures["success"] > max(line.get("val/success", -1.0) for line in earlier):
        trainer.save(run.path / "best")
    metrics = {**iteration.metrics, **_of_validation(figures)}
    return replace(iteration, metrics=metrics, seconds={**iteration.seconds, **clock.seconds})


def _of_validation(figures: Mapping[str, float]) -> dict[str, float]:
    return {f"val/{name}": value for name, value in figures.items()}


def _starved(run: TrainingDirectory, give_up_after: int) -> str | None:
    """Return why a run ends in which no group's returns differ any more."""
    last = list(run.lines("metrics.jsonl"))[-give_up_after:]
    if len(last) < give_up_after or any(line["filter/kept"] for line in last):
        return None
    return (
        f"in {len(last)} iterations in a row all rollouts of an instance had the same return, so "
        "nothing is left to learn from; begin with a model that sometimes succeeds, or raise "
        "rollouts.samples or rollouts.temperature"
    )


def _trapped(warnings: Sequence[TrapWarning], run: TrainingDirectory) -> str | None:
    """Return why a run ends that is in the echo trap; None before a warning is confirmed."""
    confirmed = [warning for warning in warnings if warning.kind == "confirmed"]
    if not confirmed:
        return None
    best = run.path / "best"
    kept = f"The best model so far is in {best}" if best.is_dir() else "No model was validated"
    return f"stopped as the recipe says. {confirmed[0].text} {kept}"


def _due(done: int, every: int) -> bool:
    return every > 0 and done % every == 0
