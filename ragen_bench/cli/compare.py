"""`compare`: how two runs differ on the same instances."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import ForeignOptions
from ragen_bench.cli.options import Argument, Command, Option


@dataclass(frozen=True, kw_only=True)
class Compare(ForeignOptions, Command):
    """Says how two runs differ on the same instances."""

    a: Annotated[Path, Argument("RUN_A")]
    b: Annotated[Path, Argument("RUN_B")]
    json: Annotated[Path | None, Option("FILE", "write the figures as JSON")] = None

    def run(self) -> int:
        """Print the table of differences, and write the figures if they are asked for."""
        from ragen_bench.console.comparison import print_comparison
        from ragen_bench.console.plain import plain_console
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.compare import compare

        self.name_environments()
        runs = read_run(self.a), read_run(self.b)
        console = plain_console()
        with console.status("Playing the random player on the common instances ..."):
            differences = compare(*runs)
        print_comparison(console, differences)
        if self.json:
            text = json.dumps(differences, indent=2) + "\n"
            self.json.write_text(text, encoding="utf-8", newline="\n")
            console.print(f"JSON  {self.json}", soft_wrap=True)
        return 0
