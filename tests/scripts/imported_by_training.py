"""Prints the distributions whose modules a training run imports; run as a program."""

import importlib
import importlib.metadata
import json
import sys
from pathlib import Path

from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.small_model import Shape, make_small_model

SETTINGS = {
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "iterations": 1,
    "mini_batch": 2,
    "rollouts": {"instances": 1, "samples": 2, "max_tokens": 4},
    "advantage": {"estimator": "grpo"},
    "validation": {"every": 1, "instances": 1},
}
ALSO = (
    "ragen_starpo.cli",
    # The driver on Ray, and its processes.
    *(f"ragen_starpo.cluster.{name}" for name in ("train", "verl_trainer", "agent_loop")),
    # What scores a run afterwards.
    "ragen_bench.leaderboard.schema",
)


def main(folder):
    model = folder / "model"
    make_small_model(model, Shape.of(8, 1), 0)
    train(recipe_of({**SETTINGS, "model": str(model)}, "a test"), model, folder / "run")
    for name in ALSO:
        importlib.import_module(name)
    names = {name.partition(".")[0] for name in sys.modules}
    places = importlib.metadata.packages_distributions()
    sys.stdout.write(json.dumps(sorted({each for name in names for each in places.get(name, [])})))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
