"""`list`: the names of environments, suites and models."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Command


@dataclass(frozen=True)
class List(JsonOptions, Command):
    """Lists environments, suites and models."""

    def run(self) -> int:
        """Print the names, with a line about each."""
        from ragen_bench.models import list_providers
        from ragen_bench.suites import SUITES
        from ragen_envs.registration import IDS, OPPONENT_IDS, OPPONENT_TABLE, TABLE

        sections = {
            "Environments": {env: TABLE[env.partition("/")[2]].about for env in IDS},
            "Environments with an opponent model (--opponent)": {
                env: OPPONENT_TABLE[env.partition("/")[2]].about for env in OPPONENT_IDS
            },
            "Suites": {
                name: f"{suite.about}; up to {suite.max_tokens} tokens per response"
                for name, suite in SUITES.items()
            },
            "Models": list_providers(),
        }
        with self.output() as content:
            keys = ("environments", "against_models", "suites", "models")
            content.update(zip(keys, sections.values(), strict=True))
            if not self.prints_json:
                for title, rows in sections.items():
                    _print_section(title, rows)
        return 0


def _print_section(title: str, rows: Mapping[str, str]) -> None:
    width = max(map(len, rows))
    lines = [f"  {name:<{width}}  {text}\n" for name, text in rows.items()]
    sys.stdout.write(f"{title}\n{''.join(lines)}\n")
