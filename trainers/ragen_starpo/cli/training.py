"""The commands that train, `local` and `verl`: their options, output and trackers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_starpo.cli.run_files import describe_failure, describe_memory, follow_files
from ragen_starpo.local.untrained import UntrainedWarning, find_reason

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from torch.utils.tensorboard import SummaryWriter

    from ragen_starpo.recipes.recipe import Recipe


class Tracker(AbstractContextManager[object], Protocol):
    """A context that receives the metrics of each iteration."""

    def write(self, number: int, metrics: Mapping[str, float]) -> None:
        """Take the metrics of an iteration, by name."""


class EventFiles:
    """Writes metrics as scalars into TensorBoard's event files; a context that closes them.

    Files of an earlier start of the run stay. Readers purge their values of iterations that are
    repeated.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> EventFiles:
        # Imported before the run begins, so that a missing package is reported at once.
        import torch.utils.tensorboard  # noqa: F401

        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, number: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of an iteration; older files are purged from the first one on."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=number)
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, number)
        self._writer.flush()


@dataclass(frozen=True, kw_only=True)
class TrainingCommand(Command):
    """A command that trains by a recipe."""

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True
    others: ClassVar[Mapping[str, str]] = {
        "device": "cluster.device=gpu, without dashes; by default a GPU is used if there is one.",
        "model": "model=NAME, without dashes",
        "env": """'envs=["ID"]', without dashes""",
        "seed": "seed=N, without dashes",
        "lr": "optimiser.learning_rate=X, without dashes",
        "learning-rate": "optimiser.learning_rate=X, without dashes",
        "batch-size": "mini_batch=N, without dashes",
        "epochs": "updates=N, without dashes",
        "max-steps": "iterations=N, without dashes",
        "output-dir": "--out",
    }

    recipe: Annotated[Path, Argument("RECIPE", "a TOML file or the name of a recipe")]
    settings: Annotated[
        tuple[str, ...],
        Argument(
            "NAME=VALUE",
            "override a setting of the recipe, as seed=1; verl also takes its own, as "
            "trainer.logger=[file]",
        ),
    ] = ()
    out: Annotated[Path, Option("DIR", "directory of the run")]
    trust: Annotated[bool, Option(None, "run the code that the recipe's file names")] = False
    tensorboard: Annotated[bool, Option(None, "write event files into DIR/tensorboard")] = False
    wandb: Annotated[
        bool,
        Option(None, "log to Weights & Biases, or with WANDB_MODE=offline to files in DIR/wandb"),
    ] = False

    @contextmanager
    def print_progress(self, recipe: Recipe, status: str = "") -> Iterator[None]:
        """Print the progress of the run, and send its metrics to the trackers."""
        trackers: list[Tracker] = []
        if self.tensorboard:
            trackers.append(EventFiles(self.out / "tensorboard"))
        if self.wandb:
            from ragen_starpo.cli.weights_and_biases import WandbRun

            trackers.append(WandbRun(self.out, recipe.name, recipe.as_json()))
        with print_progress(recipe.name, recipe.iterations, self.out, trackers, status):
            yield


@dataclass(frozen=True, kw_only=True)
class Local(TrainingCommand):
    """Trains by a recipe in one process; the same command resumes."""

    def run(self) -> int:
        """Train, and print the paths of the models."""
        from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
        from ragen_starpo.cli.models import check_model, model_folder
        from ragen_starpo.engine.computing import check_one_process
        from ragen_starpo.recipes.recipe import read_recipe

        recipe = read_recipe(self.recipe, self.settings, trust=self.trust)
        check_one_process(recipe.cluster)
        check_model(recipe.model, *["wandb"] * self.wandb)
        with pause_garbage_collection():
            import_transformers()
            from ragen_starpo.local.run import check_run
            from ragen_starpo.local.train import train

        check_run(self.out, recipe)
        model = model_folder(recipe.model)
        with self.print_progress(recipe):
            train(recipe, model, self.out)
        return 0


@dataclass(frozen=True, kw_only=True)
class Verl(TrainingCommand):
    """Trains by a recipe on verl and Ray, in many processes; the same command resumes."""

    ray_address: Annotated[
        str | None, Option("HOST:PORT", "Ray cluster to join (default: this machine only)")
    ] = None

    def run(self) -> int:
        """Train, and print the paths of the models."""
        from ragen_bench.models.hf.quick_import import pause_garbage_collection
        from ragen_starpo.cli.models import check_model, model_folder
        from ragen_starpo.engine.computing import check_devices
        from ragen_starpo.recipes.recipe import read_recipe

        settings, overrides = split_settings(self.settings)
        recipe = read_recipe(self.recipe, settings, trust=self.trust)
        if self.ray_address is None:
            check_devices(recipe.cluster)
        check_model(recipe.model, *["wandb"] * self.wandb)
        with pause_garbage_collection():
            from ragen_starpo.cluster.train import device_of, train
            from ragen_starpo.local.run import check_run

        check_run(self.out, recipe)
        device_of(recipe.cluster, self.ray_address)  # before a model is downloaded
        model = model_folder(recipe.model)
        with self.print_progress(recipe, status="starting Ray"):
            train(recipe, model, self.out, overrides, self.ray_address)
        return 0


def split_settings(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the settings of the recipe and of verl; the recipe's `critic` has an optimiser's."""
    from ragen_starpo.recipes.recipe import Recipe
    from ragen_starpo.recipes.run_sections import OptimiserSettings

    tables = {field.name for field in fields(Recipe)}
    critic = {field.name for field in fields(OptimiserSettings)}
    recipe: list[str] = []
    verl: list[str] = []
    for setting in settings:
        table, _, rest = setting.partition("=")[0].partition(".")
        is_recipe = table in tables and (table != "critic" or rest in critic)
        (recipe if is_recipe else verl).append(setting)
    return recipe, verl


@contextmanager
def print_progress(
    name: str, iterations: int, out: Path, trackers: Sequence[Tracker] = (), status: str = ""
) -> Iterator[None]:
    """Print held-out metrics during training, and the paths of the models at the end.

    The run's files are read, since verl trains in another process. A tracker that fails is
    reported at once, receives nothing more, and causes a UserError at the end.
    """
    from ragen_bench.terminal.console import plain_console
    from ragen_starpo.local.run import iterations_done

    failed: list[Tracker] = []
    bar = make_progress_bar(plain_console())
    with ExitStack() as contexts:
        for tracker in trackers:
            contexts.enter_context(tracker)
        contexts.enter_context(bar)
        # The line of memory.jsonl says it too, for both drivers.
        memory = logging.getLogger("ragen_starpo.memory")
        contexts.callback(memory.setLevel, memory.level)
        memory.setLevel(logging.ERROR)
        # Printed at the end instead.
        contexts.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", UntrainedWarning)
        task = bar.add_task(name, total=iterations, completed=iterations_done(out), status=status)

        def on_metrics(line: JsonObject) -> None:
            number = line["iteration"]
            status = f"success {line['rollout/success']:.3f} reward {line['rollout/reward']:.2f}"
            for what, field in (("failed", "failed"), ("restarted", "begun_anew")):
                if f"rollout/{field}" in line:
                    status += f" {what} {line[f'rollout/{field}']}"
            bar.update(task, completed=number + 1, status=status)
            if "val/success" in line:
                bar.console.print(f"Iteration {number}: held-out success {line['val/success']:.3f}")

        def printing(describe: Callable[[JsonObject], str]) -> Callable[[JsonObject], None]:
            return lambda line: bar.console.print(
                describe(line), soft_wrap=True, markup=False, highlight=False
            )

        def on_timings(line: JsonObject) -> None:
            for tracker in (tracker for tracker in trackers if tracker not in failed):
                try:
                    tracker.write(line["iteration"], read_iteration_metrics(out, line))
                except UserError as error:
                    failed.append(tracker)
                    bar.console.print(str(error), soft_wrap=True, markup=False)

        callbacks = {
            out / "memory.jsonl": printing(describe_memory),
            out / "metrics.jsonl": on_metrics,
            out / "warnings.jsonl": printing(lambda line: str(line["text"])),
            out / "failures.jsonl": printing(describe_failure),
            out / "timings.jsonl": on_timings,
        }
        contexts.enter_context(follow_files(callbacks))
        yield
    print_places(bar.console, out)
    if failed:
        raise UserError("not all metrics were logged, see above", exit_code=1)


def print_places(console: Console, run: Path) -> None:
    """Print the paths of a run and its models, and why it took no step if it took none."""
    from ragen_bench.runs.json_lines import numbered

    models = [str(run / name) for name in ("best", "final") if (run / name).is_dir()]
    console.print(f"Run     {run}", soft_wrap=True)
    console.print(f"Models  {', '.join(models)}", soft_wrap=True)
    if reason := find_reason(line for _, line in numbered(run / "metrics.jsonl")):
        console.print(reason, soft_wrap=True)


def read_iteration_metrics(run: Path, timing: JsonObject) -> dict[str, float]:
    """Return the metrics of an iteration by name, and its timings as `seconds/PHASE`."""
    from ragen_bench.runs.json_lines import numbered

    lines = numbered(run / "metrics.jsonl")
    metrics = next(line for _, line in lines if line["iteration"] == timing["iteration"])
    seconds = {f"seconds/{phase}": value for phase, value in timing.items()}
    iteration = ("iteration", "seconds/iteration")
    return {name: value for name, value in {**metrics, **seconds}.items() if name not in iteration}


def make_progress_bar(console: Console) -> Progress:
    """Return a progress bar whose tasks have a field `status`, printed after the count."""
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[status]}"),
        progress.TimeElapsedColumn(),
        console=console,
    )
