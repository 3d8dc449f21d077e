"""Policies of the laboratory: made by its training, saved in a folder, and read again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ragen_bench.errors import UserError, unknown
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import open_file
from ragen_bench.runs.atomic import replacing, write_text
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.run import SHAPE, train_policy
from ragen_starpo.recipes.recipe import describe_error
from ragen_starpo.studies.definition import GAMES, Task

_FACTS, _WEIGHTS = "policy.json", "policy.safetensors"
_TASK: TypeAdapter[Task] = TypeAdapter(Task)


@dataclass(frozen=True)
class Policy:
    """A policy: weights (1, ...), their training after the warm start, and held-out success."""

    task: Task
    weights: Weights
    iterations: int
    seed: int
    success: float

    @property
    def name(self) -> str:
        """The game, and how far it was trained."""
        slip = f", slip {self.task.slip:g}" if self.task.slip else ""
        trained = f"{self.iterations} iterations" if self.iterations else "warm start"
        return f"{self.task.title}{slip}, {trained}"

    @property
    def facts(self) -> JsonObject:
        """All but the weights."""
        return {
            "name": self.name,
            "task": asdict(self.task),
            "iterations": self.iterations,
            "policy_seed": self.seed,
            "success": self.success,
        }


def read_task(name: str, skill: float | None, slip: float) -> Task:
    """Return the task of a game's name, as `lake-3`; UserError if there is none."""
    names = {
        f"{game}-{size}" if size else game: (game, size)
        for game, sizes in GAMES.items()
        for size in sizes
    }
    if name not in names:
        raise unknown("game or folder of a policy", name, names)
    game, size = names[name]
    facts = {"game": game, "size": size, "slip": slip, "skill": skill}
    try:
        return _check_task({name: value for name, value in facts.items() if value is not None})
    except ValidationError as error:
        raise UserError(describe_error(Task, error)) from None


def _check_task(facts: JsonObject) -> Task:
    task = _TASK.validate_python(facts)
    if task.game == "mastermind":
        raise UserError(
            "mastermind has no true advantages here: its code is drawn for each rollout, so values "
            "of equal histories differ; choose another game"
        )
    return task


def make_policy(task: Task, iterations: int, seed: int) -> Policy:
    """Return a policy after its warm start and some iterations of training."""
    weights, success = train_policy(task, (), iterations=iterations, seed=seed)
    return Policy(task, weights, iterations, seed, success)


def check_is_new(folder: Path) -> None:
    """Raise UserError if a folder has a policy."""
    if (folder / _FACTS).exists():
        raise UserError(f"{folder} has a policy already; choose another folder")


def save_policy(folder: Path, policy: Policy) -> None:
    """Write a policy to a folder that has none; UserError if it has one."""
    check_is_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / _WEIGHTS) as file:
        save_file(policy.weights, file.name)
    write_text(folder / _FACTS, json.dumps(policy.facts, indent=1) + "\n")


def read_policy(folder: Path) -> Policy:
    """Return the policy of a folder; UserError if it is missing or damaged."""
    try:
        facts = read_whole(folder / _FACTS, "choose another folder")
        task = _check_task(facts["task"])
        iterations, seed, success = (facts[n] for n in ("iterations", "policy_seed", "success"))
        with open_file(folder / _WEIGHTS):  # not a pipe, which would never end
            weights = load_file(folder / _WEIGHTS)
        model = StackedModel(SHAPE, find_game(task).vocabulary)
        expected = model.make_weights([torch.Generator()])
        found = {name: one.shape for name, one in weights.items()}
        if found != {name: one.shape for name, one in expected.items()}:
            raise ValueError(f"{_WEIGHTS} has the weights of another model")
        return Policy(task, weights, int(iterations), int(seed), float(success))
    except FileNotFoundError as error:
        raise UserError(
            f"{folder} is not a policy that --save wrote: no {error.filename}"
        ) from None
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        line = str(error).partition("\n")[0]
        raise UserError(f"{folder} is not a policy that --save wrote: {line}") from None
