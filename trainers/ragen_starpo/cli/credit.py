"""`credit` compares advantage estimators with the true advantages of turns."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.cli.shared_options import SCHEMA, JsonOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError

if TYPE_CHECKING:
    from ragen_starpo.credit.policies import Policy


@dataclass(frozen=True, kw_only=True)
class Credit(JsonOptions, Command):
    """Compares advantage estimators with the true advantages of turns, at frozen policies.

    A policy is a game, as lake-3 or sokoban-6, whose model the laboratory makes, or a folder of
    --save. The truth is the mean return of episodes that go on from copied states.
    """

    extra: ClassVar[str] = "train"

    policies: Annotated[tuple[str, ...], Argument("POLICY", "games, or folders of --save")]
    skill: Annotated[
        float | None, Option("X", "skill of the player that a game's model imitates (default: 0.3)")
    ] = None
    slip: Annotated[float, Option("X", "chance that a step on the lake goes aside")] = 0.0
    iterations: Annotated[int, Option("N", "training iterations of a game's model")] = 0
    batches: Annotated[int, Option("N", "batches of the same prompts")] = 8
    groups: Annotated[int, Option("N", "prompts of a batch")] = 8
    samples: Annotated[int, Option("N", "rollouts of a prompt in a batch")] = 16
    continuations: Annotated[int, Option("N", "episodes that go on from each state")] = 256
    critic_iterations: Annotated[int, Option("N", "iterations that critics learn")] = 40
    seed: Annotated[int, Option("N", "seed of all random numbers")] = 0
    save: Annotated[Path | None, Option("DIR", "write the policy, of a single game, here")] = None
    page: Annotated[Path | None, Option("DIR", "write credit.md, .svg and .json here")] = None

    def run(self) -> int:
        """Print a table for each policy, and write what was asked for."""
        self._check()
        import torch

        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.credit.estimates import compare_estimators
        from ragen_starpo.credit.page import make_rows, write_page
        from ragen_starpo.credit.turns import Size

        size = Size(**{field.name: getattr(self, field.name) for field in fields(Size)})
        threads = torch.get_num_threads()
        # Sums of several threads differ from run to run.
        torch.set_num_threads(1)
        try:
            with self.output() as content:
                content |= {"schema": SCHEMA, "size": vars(size), "policies": []}
                for policy in self._find_policies():
                    start = time.process_time()
                    found = compare_estimators(policy.task, policy.weights, size)
                    facts = policy.facts | {"seconds": round(time.process_time() - start, 1)}
                    content["policies"].append(facts | found)
                    console = plain_console()
                    console.print(f"{policy.name}, {facts['seconds']} s", soft_wrap=True)
                    for row in make_rows(found):
                        line = "".join([f"{row[0]:<36}", *(f"{cell:>12}" for cell in row[1:])])
                        console.print(line, soft_wrap=True)
                if self.page:
                    write_page(self.page, content)
        finally:
            torch.set_num_threads(threads)
        return 0

    def _check(self) -> None:
        least = {"iterations": 0, "seed": 0, "samples": 2, "continuations": 2}
        for name in ("batches", "groups", "samples", "continuations", "critic_iterations", *least):
            if getattr(self, name) < least.get(name, 1):
                option = name.replace("_", "-")
                raise UserError(
                    f"--{option} must be at least {least.get(name, 1)}, got {getattr(self, name)}"
                )
        if not self.policies:
            raise UserError("name a policy: a game, as lake-3 or sokoban-6, or a folder of --save")
        if self.save and len(self.policies) > 1:
            raise UserError("--save is for a single policy; save one after the other")

    def _find_policies(self) -> list[Policy]:
        from ragen_starpo.credit.policies import (
            check_is_new,
            make_policy,
            read_policy,
            read_task,
            save_policy,
        )

        if self.save:
            check_is_new(self.save)
        tasks = {
            name: None if Path(name).is_dir() else read_task(name, self.skill, self.slip)
            for name in self.policies
        }
        found = []
        for name, task in tasks.items():
            if task is None and (
                self.skill is not None or self.iterations or self.slip or self.save
            ):
                raise UserError(
                    f"{name} is a saved policy; remove --skill, --iterations, --slip and --save, "
                    "which make one"
                )
            found.append(
                read_policy(Path(name))
                if task is None
                else make_policy(task, self.iterations, self.seed)
            )
        if self.save:
            save_policy(self.save, found[0])
        return found
