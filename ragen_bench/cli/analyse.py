"""`analyse`: why a run's episodes failed, and how the model reasoned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import ForeignOptions
from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument


@dataclass(frozen=True, kw_only=True)
class Analyse(JsonOptions, ForeignOptions, Command):
    """Says why a run's episodes failed, and how the model reasoned.

    Replays a run, prints the causes of its failures and measures of its reasoning, and writes them
    to RUN/analysis.json.
    """

    directory: Annotated[Path, Argument("RUN")]

    def run(self) -> int:
        """Print the analysis and write it."""
        from ragen_bench.analysis import analyse
        from ragen_bench.console.analysis import print_analysis
        from ragen_bench.console.plain import plain_console
        from ragen_bench.console.progress import replay_bar
        from ragen_bench.runs.directory import read_run
        from ragen_bench.runs.json_lines import write_whole

        with self.output() as content:
            self.name_environments()
            run = read_run(self.directory)
            console = plain_console()
            with replay_bar(console, run) as advance:
                analysis = analyse(run, advance)
            if not analysis["envs"]:
                raise UserError(f"{self.directory} holds no finished episode yet", exit_code=1)
            file = self.directory / "analysis.json"
            write_whole(file, analysis)
            content.update(analysis)
            if not self.printed:
                print_analysis(console, analysis, self.directory)
            console.print(f"Analysis  {file}", soft_wrap=True)
        return 0
