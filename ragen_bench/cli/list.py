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
        from ragen_bench.suites import all_suites
        from ragen_envs.registration import all_games, find_variant

        sections = {
            "Environments": {
                env: find_variant(env).description for game in all_games() for env in game.ids
            },
            "Environments with an opponent model (--opponent)": {
                env: find_variant(env).description
                for game in all_games()
                for env in game.opponent_ids
            },
            "Suites": {
                name: f"{suite.about}; up to {suite.max_tokens} tokens per response"
                for name, suite in all_suites().items()
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
