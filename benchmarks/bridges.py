"""Steps through every bridge beside plain Gymnasium, as a Markdown table.

    PYTHONPATH=. python benchmarks/bridges.py [--env ID ...] [--bridge NAME ...]

The definitions of the counts are printed under the table.
"""

from __future__ import annotations

import argparse
import pkgutil
import platform
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from time import process_time
from typing import Any

import gymnasium
import psutil
from steps import best_rate

from ragen_envs import IDS
from tests.ragen_envs.integrations.bridging import players
from tests.ragen_envs.integrations.bridging.scripts import Script, scripts

ROUNDS = 3
ENVS = ("ragen/Sokoban-v0", "ragen/FrozenLake-v0", "ragen/WebShop-v0", "ragen/TwentyQuestions-v0")
BRIDGES = sorted(module.name for module in pkgutil.iter_modules(players.__path__))
PLAYERS = ("oracle", "random")

NOTES = f"""\
- A step is one answer of the oracle or the random player of tests/ragen_envs/bridging, whose tests
  also compare what comes of it with plain Gymnasium; resets are in the time. A bridge is played as
  those tests play it: by the owner's client, and with an environment for each episode where the
  owner has one (skyrl).
- A second is one of CPU of this process and its children, all threads, so that other work on the
  machine counts little; the fastest of {ROUNDS} rounds. In openenv, server and client share the
  process; verifiers has one of its own.
- A ratio is how many times as many steps plain Gymnasium does."""


@lru_cache
def made(env: str, split: str) -> gymnasium.Env[str, str]:
    """Return an environment that is kept from one episode to the next."""
    return gymnasium.make(env, split=split)


def plain(task: Any, answers: Sequence[str]) -> None:
    """Play an episode without a bridge."""
    env = made(task.env, task.split)
    env.reset(seed=task.seed, options={"noise_seed": task.noise_seed})
    for answer in answers:
        env.step(answer)


def cpu_seconds() -> float:
    """Return the processor time of this process and its children so far."""
    children = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return process_time() + sum(times.user + times.system for times in children)


def rate(play: Callable[[Any, Sequence[str]], Any], played: Sequence[Script]) -> float:
    """Return steps a second of CPU."""

    def measure(_: int) -> tuple[int, float]:
        begin = cpu_seconds()
        for script in played:
            play(script.task, script.answers)
        return sum(len(script.answers) for script in played), cpu_seconds() - begin

    return best_rate(measure, ROUNDS)


def main() -> None:
    """Measure what is named, or everything, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", action="append", choices=IDS, metavar="ID")
    parser.add_argument("--bridge", action="append", choices=BRIDGES, metavar="NAME")
    options = parser.parse_args()
    bridges, envs = options.bridge or BRIDGES, options.env or ENVS
    plays = {name: import_module(f"{players.__name__}.{name}").play for name in bridges}
    print(f"Python {platform.python_version()}, gymnasium {gymnasium.__version__}; a second:\n")
    print(f"| environment | plain | {' | '.join(bridges)} |")
    print(f"| --- | ---: | {' | '.join('---:' for _ in bridges)} |")
    for env in envs:
        played = [script for script in scripts(env) if script.player in PLAYERS]
        alone = rate(plain, played)
        cells = []
        for play in plays.values():
            through = rate(play, played)
            cells.append(f"{through:,.0f} ({alone / through:.1f}x)")
        print(f"| {env} | {alone:,.0f} | {' | '.join(cells)} |", flush=True)
    print(f"\nWhat was counted:\n\n{NOTES}")


if __name__ == "__main__":
    main()
