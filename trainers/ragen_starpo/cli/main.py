"""Reads the command line of `ragen-train` and calls one function for it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragen_bench.cli.arguments.base import Commands, Parser
from ragen_bench.errors import INTERRUPTED, UserError, missing_extra
from ragen_envs.protocol import RESPONSE_FORMATS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    # OpenMP reads it when torch is imported: threads that spin while they wait for each other are
    # many times slower wherever anything else computes.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    resumes = False
    try:
        given = _parser().parse_args(arguments)
        resumes = given.resumes
        return int(given.run(given))
    except UserError as error:
        sys.stderr.write(f"ragen-train: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from the latest checkpoint" if resumes else ""
        sys.stderr.write(f"\nragen-train: interrupted{goes_on}\n")
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(prog="ragen-train", description="Trains agents by StarPO and StarPO-S.")
    parser.set_defaults(resumes=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _add_local(commands)
    _add_verl(commands)
    _add_recipes(commands)
    _add_report(commands)
    _add_warm_start(commands)
    _add_small_model(commands)
    _add_demo(commands)
    return parser


def _add_local(commands: Commands) -> None:
    local = commands.add_parser(
        "local",
        help="train in this process",
        description="Trains by a recipe in one process; the same command resumes.",
    )
    local.add_argument("recipe", type=Path, metavar="RECIPE", help="a TOML file or a listed recipe")
    local.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="in place of the recipe's, as seed=1"
    )
    local.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory of the run"
    )
    _add_tensorboard(local)
    local.set_defaults(
        resumes=True, run=_lazily("local", lambda module, given: module.run_local(given))
    )


def _add_tensorboard(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tensorboard", action="store_true", help="write event files into DIR/tensorboard"
    )


def _add_verl(commands: Commands) -> None:
    verl = commands.add_parser(
        "verl",
        help="train in many processes, on one machine or more",
        description="Trains by a recipe on verl and Ray; the same command resumes.",
    )
    verl.add_argument("recipe", type=Path, metavar="RECIPE", help="a TOML file or a listed recipe")
    verl.add_argument(
        "settings",
        nargs="*",
        metavar="NAME=VALUE",
        help="in place of the recipe's, as seed=1, or of verl's, as trainer.logger=[wandb]",
    )
    verl.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory of the run")
    verl.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="of a Ray cluster to join (default: this machine)",
    )
    _add_tensorboard(verl)
    verl.set_defaults(
        resumes=True, run=_lazily("verl", lambda module, given: module.run_verl(given))
    )


def _add_recipes(commands: Commands) -> None:
    recipes = commands.add_parser(
        "recipes",
        help="list the recipes that come with the package, or print one",
        description="Lists the rows of the papers' tables, or prints all settings of a recipe.",
    )
    recipes.add_argument("recipe", nargs="?", metavar="RECIPE", help="as small, or grpo@gpu")
    recipes.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="in place of the recipe's, as seed=1"
    )
    recipes.set_defaults(run=_lazily("recipes", lambda module, given: module.run_recipes(given)))


def _add_report(commands: Commands) -> None:
    report = commands.add_parser(
        "report",
        help="draw a run's curves in one HTML page",
        description="Writes report.html into a run's directory, also while it is trained.",
    )
    report.add_argument("run_directory", type=Path, metavar="RUN", help="directory of a run")
    report.set_defaults(
        run=_lazily("report", lambda module, given: module.run_report(given), "bench")
    )


def _add_warm_start(commands: Commands) -> None:
    warm = commands.add_parser(
        "warm-start",
        help="train a model on the oracle's episodes first",
        description="Supervised training on episodes of the oracle on train instances.",
    )
    add = warm.add_argument
    add("model", metavar="MODEL", help="a folder that transformers reads, or smollm2-135m")
    add("--out", type=Path, required=True, metavar="DIR", help="the trained model")
    add("--env", action="append", required=True, metavar="ID", help="may be given again")
    add(
        "--format",
        choices=RESPONSE_FORMATS,
        default="think",
        help="of the answers (default: think)",
    )
    add("--episodes", type=int, default=1000, metavar="N", help="of the oracle (default: 1000)")
    add("--epochs", type=int, default=10, metavar="N", help="passes over them (default: 10)")
    add("--batch", type=int, default=32, metavar="N", help="episodes of a step (default: 32)")
    add(
        "--micro-batch",
        type=int,
        default=32,
        metavar="N",
        help="episodes that are computed at once; decides memory alone (default: 32)",
    )
    add("--learning-rate", type=float, default=1e-3, metavar="X", help="(default: 0.001)")
    add("--max-tokens", type=int, default=200, metavar="N", help="of an answer (default: 200)")
    add(
        "--validate-every",
        type=int,
        default=0,
        metavar="N",
        help="epochs after which held-out success is measured, and the best model kept "
        "(default: 0, the last model is kept)",
    )
    add(
        "--val-instances",
        type=int,
        default=256,
        metavar="N",
        help="held-out instances of each environment (default: 256)",
    )
    add("--seed", type=int, default=0, metavar="N", help="of the order (default: 0)")
    warm.set_defaults(run=_lazily("warm_start", lambda module, given: module.run_warm_start(given)))


def _add_small_model(commands: Commands) -> None:
    small = commands.add_parser(
        "small-model",
        help="make a small untrained model for two cores",
        description="Writes a Qwen2 model of some 0.4 million parameters with a tokenizer of its "
        "own, which reads the boards of Sokoban and FrozenLake.",
    )
    small.add_argument("out", type=Path, metavar="DIR", help="the model")
    small.add_argument("--seed", type=int, default=0, metavar="N", help="of its weights")
    small.set_defaults(
        run=_lazily("small_model", lambda module, given: module.run_small_model(given))
    )


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        help="train small agents for two games from nothing",
        description="Makes a small model, lets it learn from the oracle, trains it by StarPO-S, "
        "and evaluates all three on held-out instances; for Sokoban and FrozenLake, each on one "
        "core. The same command resumes.",
    )
    add = demo.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="the agents and their runs")
    add("--seed", type=int, action="append", default=[], metavar="N", help="may be given again")
    add(
        "--instances",
        type=int,
        default=256,
        metavar="N",
        help="of each held-out split (default: 256, all)",
    )
    demo.set_defaults(
        resumes=True, run=_lazily("demo", lambda module, given: module.run_demo(given))
    )


def _lazily(
    module: str, call: Callable[[Any, argparse.Namespace], int], extra: str = "train"
) -> Callable[[argparse.Namespace], int]:
    """Return a command that imports its module when it is called: torch and verl take seconds.

    Where a package is missing it names the extra that has all that the command needs, also where
    the harness would name one of its own.
    """

    def run(given: argparse.Namespace) -> int:
        try:
            return call(importlib.import_module(f"ragen_starpo.cli.{module}"), given)
        except ImportError as missing:
            raise missing_extra(missing, extra) from missing
        except UserError as error:
            if isinstance(error.__cause__, ImportError):
                raise missing_extra(error.__cause__, extra) from error
            raise

    return run
