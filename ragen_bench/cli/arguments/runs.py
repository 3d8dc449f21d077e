"""The arguments of the commands on runs: `report`, `compare`, `replay` and others."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.cli.arguments.base import Commands, add_prices, lazily
from ragen_envs.protocol import RESPONSE_FORMATS


def add(commands: Commands) -> None:
    """Add them."""
    _add_results(commands)
    _add_reading(commands)
    _add_annotate(commands)
    _add_export(commands)


def _add_results(commands: Commands) -> None:
    parser = commands.add_parser("report", help="print a run's table and write its HTML report")
    parser.add_argument("directory", type=Path, metavar="RUN")
    add_prices(parser)
    parser.set_defaults(
        run=lazily(
            "console.results",
            lambda module, given: module.report_run(given.directory, given.prices),
        )
    )
    parser = commands.add_parser("compare", help="how two runs differ on the same instances")
    parser.add_argument("a", type=Path, metavar="RUN_A")
    parser.add_argument("b", type=Path, metavar="RUN_B")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.set_defaults(
        run=lazily(
            "console.comparison",
            lambda module, given: module.run_compare(given.a, given.b, given.json),
        )
    )


def _add_reading(commands: Commands) -> None:
    parser = commands.add_parser(
        "replay",
        help="recompute a run from its answers and compare",
        description="Plays every episode of a run again from its answers alone and compares every "
        "field of the record. Ends with exit code 1 if anything differs.",
    )
    parser.add_argument("directory", type=Path, metavar="RUN")
    parser.set_defaults(
        run=lazily("cli.replay", lambda module, given: module.run_replay(given.directory))
    )
    parser = commands.add_parser(
        "analyse",
        help="say why a run's episodes failed, and how the model reasoned",
        description="Replays a run, prints the causes of its failures and measures of its "
        "reasoning, and writes them to RUN/analysis.json.",
    )
    parser.add_argument("directory", type=Path, metavar="RUN")
    parser.set_defaults(
        run=lazily("console.analysis", lambda module, given: module.run_analyse(given.directory))
    )


def _add_annotate(commands: Commands) -> None:
    parser = commands.add_parser(
        "annotate",
        help="rate trajectories blind, or see how far raters agree",
        description="Shows episodes without saying who played them, and keeps the ratings in each "
        "run's ratings.jsonl. Several runs are shuffled together.",
    )
    add = parser.add_argument
    add("runs", type=Path, nargs="+", metavar="RUN")
    add("--rater", metavar="NAME", help="whose ratings they are")
    add("--count", type=int, default=30, metavar="N", help="episodes (default: 30)")
    add("--seed", type=int, default=0, metavar="N", help="which episodes (default: 0)")
    add("--browser", action="store_true", help="on a page in the browser, not in the terminal")
    add("--agreement", action="store_true", help="print the ratings and how far raters agree")
    parser.set_defaults(
        run=lazily("console.annotation", lambda module, given: module.run_annotate(given))
    )


def _add_export(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        help="a run, or demonstrations of the oracle, as a Parquet data set",
        description="Writes one row an episode; datasets.load_dataset(DIR) reads it.",
    )
    add = parser.add_argument
    add("source", metavar="RUN|oracle", help="a run directory; or the oracle, on train instances")
    add("--out", type=Path, required=True, metavar="DIR", help="a new or empty directory")
    add("--env", metavar="ID", action="append", help="oracle: an environment (default: core's)")
    add("--limit", type=int, metavar="N", help="oracle: instances of each (default: 256)")
    add("--format", metavar="NAME", help=f"oracle: {', '.join(RESPONSE_FORMATS)} (default: think)")
    parser.set_defaults(run=lazily("cli.export", lambda module, given: module.run_export(given)))
