"""`list` and `describe`."""

from __future__ import annotations

import sys

from ragen_bench.models import PROVIDERS
from ragen_bench.runs.specification import spec_hash
from ragen_bench.suites import SUITES, documentation, env_id, make_env
from ragen_envs.registration import IDS, OPPONENT_IDS, OPPONENT_TABLE, TABLE


def list_all() -> int:
    """Print what can be evaluated."""
    _section("Environments", {env: TABLE[env.partition("/")[2]].about for env in IDS})
    against = {env: OPPONENT_TABLE[env.partition("/")[2]].about for env in OPPONENT_IDS}
    _section("Played against another model, which --opponent names", against)
    _section(
        "Suites",
        {
            name: f"{suite.about}; answers of up to {suite.max_tokens} tokens"
            for name, suite in SUITES.items()
        },
    )
    _section("Models", PROVIDERS)
    return 0


def describe(name: str) -> int:
    """Print an environment's specification and its first test observation.

    Raises:
        UserError: if there is no such environment.
    """
    env = env_id(name, opposed=None)
    made = make_env(env, "test", "think")
    first, _ = made.reset(seed=0)
    budget = made.budget
    sys.stdout.write(
        f"{env}\n\n{documentation(env)}\n\n"
        f"Budget: {budget.max_turns} turns, {budget.max_actions_per_turn} actions a turn, "
        f"{budget.max_actions} actions; penalty {budget.penalty / 100:g}.\n"
        f"Specification (test, think): {spec_hash(env, 'test', 'think')}\n\n"
        f"First observation of test instance 0:\n\n{first}\n"
    )
    return 0


def _section(title: str, rows: dict[str, str]) -> None:
    width = max(map(len, rows))
    lines = [f"  {name:<{width}}  {text}\n" for name, text in rows.items()]
    sys.stdout.write(f"{title}\n{''.join(lines)}\n")
