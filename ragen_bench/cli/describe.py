"""`describe`: an environment's specification."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from ragen_bench.cli.options import Argument, Command


@dataclass(frozen=True)
class Describe(Command):
    """Prints an environment's specification and its first test observation."""

    env: Annotated[str, Argument("ENV")]

    def run(self) -> int:
        """Print them."""
        from ragen_bench.runs.specification import spec_hash
        from ragen_bench.suites import documentation, env_id, make_env
        from ragen_bench.two_player import foreign_notes

        name = env_id(self.env, opposed=None)
        env = make_env(name, "test", "think")
        observation, _ = env.reset(seed=0)
        budget = env.budget
        lacks = "".join(f"{note}\n" for note in foreign_notes(name))
        sys.stdout.write(
            f"{name}\n\n{documentation(name)}\n\n"
            f"Budget: {budget.max_turns} turns, {budget.max_actions_per_turn} actions a turn, "
            f"{budget.max_actions} actions; penalty {budget.penalty / 100:g}.\n"
            f"{lacks}Specification (test, think): {spec_hash(name, 'test', 'think')}\n\n"
            f"First observation of test instance 0:\n\n{observation}\n"
        )
        return 0
