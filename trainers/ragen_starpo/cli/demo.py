"""`demo`: trains small agents for two games from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Option


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Trains small agents for two games from nothing.

    Makes a small model, lets it learn from the oracle, trains it by StarPO-S, and evaluates all
    three on held-out instances; for Sokoban and FrozenLake, each on one core. The same command
    resumes.
    """

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    out: Annotated[Path, Option("DIR", "the agents and their runs")]
    seed: Annotated[tuple[int, ...], Option("N", "may be repeated (default: 0)")] = ()
    instances: Annotated[int, Option("N", "of each held-out split, which has 256")] = 256

    def run(self) -> int:
        """Train and evaluate both games at once, one seed after the other."""
        from ragen_bench.errors import UserError
        from ragen_envs.core.instances import HELD_OUT_SIZE
        from ragen_starpo.console.demo import train_agents

        if len(set(self.seed)) < len(self.seed):
            raise UserError("a seed is given twice; give each once")
        if not 1 <= self.instances <= HELD_OUT_SIZE:
            raise UserError(f"--instances is between 1 and {HELD_OUT_SIZE}, got {self.instances}")
        train_agents(self.out, self.seed or (0,), self.instances)
        return 0
