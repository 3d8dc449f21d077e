"""`list`: the names of environments, suites and models."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ragen_bench.cli.options import Command


@dataclass(frozen=True)
class List(Command):
    """Lists environments, suites and models."""

    def run(self) -> int:
        """Print what can be evaluated."""
        from ragen_bench.models import PROVIDERS
        from ragen_bench.suites import SUITES
        from ragen_envs.registration import IDS, OPPONENT_IDS, OPPONENT_TABLE, TABLE

        _print_section("Environments", {env: TABLE[env.partition("/")[2]].about for env in IDS})
        against = {env: OPPONENT_TABLE[env.partition("/")[2]].about for env in OPPONENT_IDS}
        _print_section("Played against another model, which --opponent names", against)
        suites = {
            name: f"{suite.about}; answers of up to {suite.max_tokens} tokens"
            for name, suite in SUITES.items()
        }
        _print_section("Suites", suites)
        _print_section("Models", PROVIDERS)
        return 0


def _print_section(title: str, rows: Mapping[str, str]) -> None:
    width = max(map(len, rows))
    lines = [f"  {name:<{width}}  {text}\n" for name, text in rows.items()]
    sys.stdout.write(f"{title}\n{''.join(lines)}\n")
