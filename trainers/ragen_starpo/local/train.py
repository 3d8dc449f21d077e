"""A run from its first iteration, or its latest checkpoint, to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.drift import DriftMonitor
from ragen_starpo.diagnostics.monitor import (
    AdaptableSettings,
    Adaptation,
    EchoTrapMonitor,
    TrapWarning,
)
from ragen_starpo.engine.computing import device_here
from ragen_starpo.engine.device_memory import free_memory
from ragen_starpo.engine.memory import Placement, check_memory, has_room_for_cache
from ragen_starpo.iteration import Clock, Iteration
from ragen_starpo.local.full_memory import explain_memory
from ragen_starpo.local.run import (
    MEMORY,
    TrainingDirectory,
    check_run,
    is_finished,
    recorded_day,
    save_rollouts,
)
from ragen_starpo.local.trainer import Trainer
from ragen_starpo.local.untrained import NO_TOKENS, find_reason, warn_if_untrained
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.episodes import training_pool

OnIteration: TypeAlias = Callable[[Iteration], None]


class TrainingDriver(Protocol):
    """A trainer that `resume_run` drives; another `driver` cannot use its checkpoints."""

    driver: str

    def adapt(self, settings: AdaptableSettings) -> None:
        """Use these settings from now on."""

    def iterate(self, number: int) -> Iteration:
        """Play rollouts and learn from them; numbers count from 0."""

    def validate(self, folder: Path) -> dict[str, float]:
        """Return held-out metrics as `held_out_metrics` does; the folder may be written to."""

    def save(self, folder: Path) -> None:
        """Write the model as a folder that transformers reads."""

    def save_checkpoint(self, folder: Path) -> None:
        """Write all state that the next iterations depend on."""

    def load_checkpoint(self, folder: Path) -> None:
        """Continue from a checkpoint."""


def train(
    recipe: Recipe, folder: Path, out: Path, on_iteration: OnIteration = lambda _: None
) -> TrainingDirectory:
    """Train in one process to the recipe's last iteration.

    The same call resumes a killed run, and does not change a finished one.

    Args:
        recipe: The recipe of the run.
        folder: Folder of the initial model.
        out: Directory of the run.
        on_iteration: Called after each iteration.

    Returns:
        The run. An `UntrainedWarning` says that it took no step, for example because the filter
        dropped all groups.

    Raises:
        UserError: The directory, the model or an environment is not usable, or the model does
            not fit into the device's memory; and as `resume_run` does.
    """
    check_run(out, recipe)
    training_pool(recipe.envs, recipe.response_format, recipe.environment)
    if is_finished(out, recipe.iterations):
        run = TrainingDirectory(out, recipe)
    else:
        memory = check_memory(recipe, folder, Placement(device_here()), free_memory())
        with explain_memory(out):
            keeps_cache = device_here() == "cuda" and has_room_for_cache(memory)
            trainer = Trainer(folder, recipe, recorded_day(out), keeps_cache=keeps_cache)
        # Last, so that a mistake leaves no directory that would block the corrected command.
        run = TrainingDirectory(out, recipe)
        run.record_day(trainer.day)
        run.append(MEMORY, memory)
        resume_run(recipe, trainer, run, on_iteration)
    warn_if_untrained(run.lines("metrics.jsonl"))
    return run


def resume_run(
    recipe: Recipe, trainer: TrainingDriver, run: TrainingDirectory, on_iteration: OnIteration
) -> None:
    """Iterate from the latest checkpoint, or the first iteration, to the last one.

    With a validation, the initial and the last model are measured too. UserError if the filter
    kept nothing for too many iterations, or a confirmed warning ends the run; `final/` is
    written in both cases. Or if another process writes the run, or another driver did.
    """
    with run.lock(), explain_memory(run.path):
        _iterate(recipe, trainer, run, on_iteration)


def _iterate(
    recipe: Recipe, trainer: TrainingDriver, run: TrainingDirectory, on_iteration: OnIteration
) -> None:
    first = 0
    if resumed := run.resume(trainer.driver):
        first, checkpoint = resumed
        trainer.load_checkpoint(checkpoint)
    if first == 0 and recipe.validation.every:
        metrics = trainer.validate(run.path / "latest")
        trainer.save(run.path / "best")
        run.write_start({f"val/{name}": value for name, value in metrics.items()})
    monitors = _Monitors(recipe, run)
    stop_reason = None
    for number in range(first, recipe.iterations):
        trainer.adapt(monitors.adaptation.settings)
        iteration = trainer.iterate(number)
        if _is_due(number + 1, recipe.records.every) or (recipe.records.every and number == 0):
            temperature = monitors.adaptation.settings.temperature
            save_rollouts(run.rollouts(number), recipe, number, temperature, iteration.rollouts)
        adapted = monitors.adaptation.metrics()
        iteration = replace(iteration, metrics={**iteration.metrics, **adapted})
        iteration = _validate(iteration, recipe, trainer, run)
        line = {"iteration": number, **iteration.metrics}
        run.append("metrics.jsonl", line)
        run.append("timings.jsonl", {"iteration": number, **iteration.seconds})
        if iteration.error is not None:
            groups = iteration.metrics["rollout/failed"]
            run.append(
                "failures.jsonl", {"iteration": number, "groups": groups, "error": iteration.error}
            )
        on_iteration(iteration)
        warnings = monitors.take(line)
        for warning in warnings:
            run.append("warnings.jsonl", asdict(warning))
        if recipe.monitor.action == "stop":
            stop_reason = _describe_trap(warnings, run)
        stop_reason = stop_reason or _describe_starvation(run, recipe.give_up_after)
        if stop_reason:
            break
        if number + 1 < recipe.iterations and _is_due(number + 1, recipe.checkpoint_every):
            _checkpoint(trainer, run, number + 1)
    trainer.save(run.path / "final")
    if stop_reason:
        raise UserError(stop_reason, exit_code=1)
    # Last: a run with this checkpoint is complete.
    _checkpoint(trainer, run, recipe.iterations)


class _Monitors:
    """The monitors of a run and what they change, which depend on `metrics.jsonl` alone."""

    def __init__(self, recipe: Recipe, run: TrainingDirectory) -> None:
        self._trap = EchoTrapMonitor(recipe.monitor)
        self._drift = DriftMonitor(recipe.monitor.window, run.start())
        self.adaptation = Adaptation(recipe.monitor, AdaptableSettings.of(recipe))
        for line in run.lines("metrics.jsonl"):
            self.take(line)

    def take(self, line: Mapping[str, float]) -> list[TrapWarning]:
        """Return an iteration's warnings, of which those of the echo trap change settings."""
        trap = [self.adaptation.take(warning) for warning in self._trap.take(line)]
        return [*trap, *self._drift.take(line)]


def _checkpoint(trainer: TrainingDriver, run: TrainingDirectory, done: int) -> None:
    with run.checkpoint(done, trainer.driver) as draft:
        trainer.save_checkpoint(draft)


def _validate(
    iteration: Iteration, recipe: Recipe, trainer: TrainingDriver, run: TrainingDirectory
) -> Iteration:
    """Return the iteration with held-out metrics, if they are due; save the best model."""
    done, every = iteration.number + 1, recipe.validation.every
    if not _is_due(done, every) and not (every and done == recipe.iterations):
        return iteration
    clock = Clock()
    with clock.measure("validation"):
        held_out = trainer.validate(run.path / "latest")
    earlier = [run.start(), *run.lines("metrics.jsonl")]
    if held_out["success"] > max(line.get("val/success", -1.0) for line in earlier):
        trainer.save(run.path / "best")
    metrics = iteration.metrics | {f"val/{name}": value for name, value in held_out.items()}
    return replace(iteration, metrics=metrics, seconds={**iteration.seconds, **clock.seconds})


def _describe_starvation(run: TrainingDirectory, give_up_after: int) -> str | None:
    last = list(run.lines("metrics.jsonl"))[-give_up_after:]
    reason = find_reason(last) if len(last) == give_up_after else None
    if reason is None:
        return None
    if reason == NO_TOKENS:
        return f"the last {len(last)} iterations taught nothing. {reason}"
    return (
        f"in {len(last)} iterations in a row all rollouts of an instance had the same return, so "
        "nothing is left to learn from; start with a model that sometimes succeeds, or raise "
        "rollouts.samples or rollouts.temperature"
    )


def _describe_trap(warnings: Sequence[TrapWarning], run: TrainingDirectory) -> str | None:
    confirmed = [warning for warning in warnings if warning.kind == "confirmed"]
    if not confirmed:
        return None
    best = run.path / "best"
    best_model = (
        f"The best model so far is in {best}" if best.is_dir() else "No model was validated"
    )
    return f"stopped as the recipe says. {confirmed[0].text} {best_model}"


def _is_due(done: int, every: int) -> bool:
    return every > 0 and done % every == 0
