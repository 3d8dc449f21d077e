"""`list` and `describe`: the names of environments, suites and models, and specifications."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Argument, Command
from ragen_bench.json_types import JsonObject
from ragen_bench.visible import visible, write_out


@dataclass(frozen=True)
class Describe(JsonOptions, Command):
    """Prints an environment's specification and its first test observation."""

    env: Annotated[str, Argument("ENV")]

    def run(self) -> int:
        """Print the specification."""
        from ragen_bench.environments import third_party_notes
        from ragen_bench.runs.specification import spec_hash
        from ragen_bench.suites import documentation, env_id, make_env

        name = env_id(self.env, opposed=None)
        env = make_env(name, "test", "think")
        with self.output() as content:
            content.update(
                env=name,
                documentation=documentation(name),
                budget=asdict(env.budget),
                notes=third_party_notes(name),
                specification=spec_hash(name, "test", "think"),
                first_observation=env.reset(seed=0)[0],
            )
            if not self.prints_json:
                _print(content)
        return 0


def _print(content: JsonObject) -> None:
    budget, notes = content["budget"], "".join(f"{note}\n" for note in content["notes"])
    documentation = visible(content["documentation"])
    write_out(f"{visible(content['env'])}\n\n")
    if sys.stdout.isatty() and find_spec("rich"):  # rich is in an extra
        from rich.markdown import Markdown

        from ragen_bench.terminal.console import plain_console

        plain_console().print(Markdown(documentation), "")
    else:
        write_out(f"{documentation}\n\n")
    write_out(
        f"Budget: {budget['max_turns']} turns, {budget['max_actions_per_turn']} actions a turn, "
        f"{budget['max_actions']} actions; penalty {budget['penalty'] / 100:g}.\n"
        f"{visible(notes)}"
        f"Specification (test, think): {content['specification']}\n\n"
        f"First observation of test instance 0:\n\n{visible(content['first_observation'])}\n"
    )


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
                    width = max(map(len, rows))
                    lines = [f"  {name:<{width}}  {text}\n" for name, text in rows.items()]
                    write_out(f"{title}\n{''.join(lines)}\n")
        return 0
