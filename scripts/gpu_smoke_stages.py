"""One stage of gpu_smoke.py: `gpu_smoke_stages.py STAGE --out DIR ...`.

- `device`: versions, and plain products of matrices in both arithmetics.
- `float32`, `bfloat16`: rollouts, updates and new weights for who plays, by the parts of
  `ragen-train local`, with a model of the shape of Qwen2.5-0.5B and random weights. A random model
  hardly ever ends an answer, so all are as long as they may be, the heaviest load of these
  settings. No trajectory earns more than another, so every second one is called good, the others
  bad. `bfloat16` also times an update with micro-batches by tokens.
- `training`: a model of tens of millions of parameters that is made here, or the one that is given,
  is warm-started on the oracle's Sokoban and then trained by reinforcement learning.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpu_smoke_measures import DTYPES, device, matmul_speed, peak_of, version
from gpu_smoke_page import Record
from gpu_smoke_run import SHAPES, Run, made_model, recipe_for

from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.iteration import Iteration
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import Recipe, recipe_of
from ragen_starpo.small_model import Shape as SmallShape
from ragen_starpo.small_model import make_small_model
from ragen_starpo.warm_start import Epoch, warm_start
from ragen_starpo.warm_start_settings import WarmStartSettings

ITERATIONS = {"gpu": 3, "tiny": 1}
"""Maximum number of iterations of the stages `float32` and `bfloat16`."""
WARM_FRACTION = 0.45
"""Fraction of the time of `training` for the warm start."""


@dataclass(frozen=True)
class Training:
    """The sizes of `training`.

    Attributes:
        shape: Shape of the created model.
        episodes, epochs, batch: Sizes of the warm start.
        instances, samples, iterations: Sizes of the reinforcement learning.
        val_instances: Number of validation instances.
        val_every: Epochs, and iterations, between validations.
    """

    shape: SmallShape
    episodes: int
    epochs: int
    batch: int
    instances: int
    samples: int
    iterations: int
    val_instances: int
    val_every: int


TRAINING = {
    "gpu": Training(SmallShape(512, 8, 8, 1408), 2000, 40, 64, 32, 8, 1000, 128, 10),
    "tiny": Training(SmallShape(32, 2, 2, 48), 4, 1, 4, 2, 2, 2, 2, 1),
}


class TimeUpError(Exception):
    """The time of the stage is over."""


@dataclass(frozen=True)
class Stage:
    """The settings of a stage.

    Attributes:
        scale: Scale of its models.
        model: Folder of the model of `training`; None to create one.
        work: Folder shared by all stages.
        until: `time.time()` after which no new work is started.
        found: Its metrics, to be filled in.
        note: Called whenever metrics were added.
    """

    scale: str
    model: Path | None
    work: Path
    until: float
    found: dict[str, Any]
    note: Callable[[], None]

    def check_time(self, until: float | None = None) -> None:
        """Record the metrics, and stop the stage if its time is over.

        Raises:
            TimeUpError: If the time is over.
        """
        self.note()
        if time.time() >= (self.until if until is None else until):
            raise TimeUpError


def main(arguments: list[str] | None = None) -> int:
    """Run a stage to its end, or until its time is up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stage", choices=WORK)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--scale", choices=SHAPES, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--until", type=float, required=True)
    given = parser.parse_args(arguments)
    record = Record(given.out, given.page)
    found = record.stage(given.stage)
    try:
        WORK[given.stage](
            Stage(given.scale, given.model, given.work, given.until, found, record.write)
        )
    except TimeUpError:
        found["cut"] = True
    record.write()
    return 0


def look(stage: Stage) -> None:
    """Tell what computes, and how fast."""
    stage.found.update(
        device=device(),
        software={name: version(name) for name in ("torch", "transformers", "verl")},
        peak=peak_of(device()["name"]),
    )
    stage.found["matmul"] = {name: matmul_speed(name) for name in DTYPES}


def in_float32(stage: Stage) -> None:
    """Iterate in float32."""
    _iterated(stage, "float32")


def in_bfloat16(stage: Stage) -> None:
    """Iterate in bfloat16, and time updates in other ways."""
    run = _iterated(stage, "bfloat16")
    for name in run.ways():
        stage.found.setdefault("ways", {})[name] = run.update_by(name)
        stage.check_time()


def _iterated(stage: Stage, dtype: Any) -> Run:
    folder = stage.work / "shape"
    if not folder.is_dir():
        with libraries_quiet():
            made_model(folder, SHAPES[stage.scale])
    run = Run(folder, recipe_for(folder, SHAPES[stage.scale]), dtype)
    stage.found.update(parameters=run.parameters, iterations=[])
    for number in range(ITERATIONS[stage.scale]):
        stage.found["iterations"].append(run.iteration(number))
        stage.found["moved"] = run.moved()
        stage.check_time()
    return run


def trained(stage: Stage) -> None:
    """Warm-start a model and train it."""
    sizes = TRAINING[stage.scale]
    start, began = stage.model, time.time()
    if start is None:
        start = stage.work / "small"
        stage.found["parameters"] = make_small_model(start, sizes.shape, 0)
    stage.found.update(epochs=[], iterations=[])
    half = began + WARM_FRACTION * (stage.until - began)

    def on_epoch(epoch: Epoch) -> None:
        seconds = round(time.time() - began, 1)
        stage.found["epochs"].append({**asdict(epoch), "seconds": seconds})
        stage.check_time(half)

    warm = stage.work / "warm"
    try:
        warm_start(_shown(sizes, stage.model), start, warm, on_epoch)
    except TimeUpError:
        stage.found["warm_start_cut"] = True
    # One that is cut before its first validation has kept no model.
    begun = warm if warm.is_dir() else start
    run = stage.work / "run"

    def on_iteration(iteration: Iteration) -> None:
        stage.found["start"] = read_whole(run / "start.json")["val/success"]
        stage.found["iterations"].append(_told(iteration))
        stage.check_time()

    train(_recipe(begun, sizes, stage.model), begun, run, on_iteration)


def _told(iteration: Iteration) -> dict[str, float | None]:
    metrics, seconds = iteration.metrics, iteration.seconds
    return {
        "success": metrics["rollout/success"],
        "held_out": metrics.get("val/success"),
        "generated": metrics["rollout/generated_tokens"],
        "trained": metrics.get("trained_tokens", 0),
        "rollouts": seconds["rollouts"],
        "updates": seconds.get("updates", 0.0),
    }


def _max_tokens(model: Path | None) -> int:
    """Return the room of an answer: an action is a token of the model that is made."""
    return 14 if model is None else 48


def _shown(sizes: Training, model: Path | None) -> WarmStartSettings:
    return WarmStartSettings(
        ("Sokoban-v0",),
        "answer",
        sizes.episodes,
        sizes.epochs,
        sizes.batch,
        sizes.batch if model is None else 8,
        learning_rate=5e-4 if model is None else 1e-5,
        max_tokens=_max_tokens(model),
        validate_every=sizes.val_every if sizes.val_every == 1 else sizes.val_every // 2,
        val_instances=sizes.val_instances,
    )


def _recipe(begun: Path, sizes: Training, model: Path | None) -> Recipe:
    """Return the recipe of `demo-sokoban`, with a rate for a larger model."""
    return recipe_of(
        {
            "model": str(begun),
            "envs": ["Sokoban-v0"],
            "response_format": "answer",
            "iterations": sizes.iterations,
            "mini_batch": 128,
            "micro_batch": 128 if model is None else 8,
            "checkpoint_every": 0,
            "rollouts": {
                "instances": sizes.instances,
                "samples": sizes.samples,
                "max_tokens": _max_tokens(model),
            },
            "advantage": {"estimator": "dr-grpo"},
            "filter": {"amount": 0.5},
            "loss": {"aggregation": "seq-mean-token-mean"},
            "optimiser": {"learning_rate": 5e-5 if model is None else 1e-6, "weight_decay": 0.0},
            "validation": {"every": sizes.val_every, "instances": sizes.val_instances},
            "records": {"every": 0},
        },
        "the training of the smoke",
    )


WORK: dict[str, Callable[[Stage], None]] = {
    "device": look,
    "float32": in_float32,
    "bfloat16": in_bfloat16,
    "training": trained,
}

if __name__ == "__main__":
    sys.exit(main())
