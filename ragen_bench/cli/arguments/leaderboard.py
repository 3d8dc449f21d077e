"""The arguments of the leaderboard's commands: `submit`, `verify`, `reproduce`, `leaderboard`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ragen_bench.cli.arguments.base import Commands, Parser, add_prices, lazily


def add(commands: Commands) -> None:
    """Add them."""
    _add_submit(commands)
    _add_verify(commands)
    _add_reproduce(commands)
    _add_leaderboard(commands)


def _add_submit(commands: Commands) -> None:
    parser = commands.add_parser(
        "submit",
        help="pack a finished run as an entry of the leaderboard",
        description="Writes a directory with entry.json and the compressed episodes. All of it is "
        "published: the whole run.json, with the command line, and every answer.",
    )
    add = parser.add_argument
    add("directory", type=Path, metavar="RUN")
    add("--name", required=True, metavar="TEXT", help="the model, as the table shows it")
    add("--submitter", required=True, metavar="TEXT", help="who submits")
    add("--contact", metavar="TEXT", help="how to reach the submitter")
    add("--link", metavar="URL", help="a page on the model")
    add("--parameters", metavar="N", help="the model's size: 135M, 7B, 1500000")
    add(
        "--open-weights",
        action=argparse.BooleanOptionalAction,
        help="whether everybody can have the weights (default: not said)",
    )
    add("--date", metavar="DAY", help="of the run, YYYY-MM-DD (default: not said)")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="the entry (default: leaderboard/entries/NAME_SUITE_SPLIT)",
    )
    add_prices(parser)
    parser.set_defaults(run=lazily("cli.submit", lambda module, given: module.run_submit(given)))


def _add_verify(commands: Commands) -> None:
    parser = commands.add_parser(
        "verify",
        help="recompute an entry of the leaderboard from its answers",
        description="Believes nothing in an entry that can be computed: replays every answer and "
        "recomputes every figure. Ends with exit code 1 if anything differs.",
    )
    parser.add_argument("entry", type=Path, metavar="ENTRY")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.set_defaults(
        run=lazily("cli.verify", lambda module, given: module.run_verify(given.entry, given.json))
    )


def _add_reproduce(commands: Commands) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="rerun an entry at another seed, and see whether the intervals overlap",
        description="Evaluates a model with the settings of an entry at the next seed. Ends with "
        "exit code 1 if a 95 % interval of a score does not overlap with the entry's.",
    )
    add = parser.add_argument
    add("entry", type=Path, metavar="ENTRY")
    add("model", metavar="MODEL", help="the model here; it may have another name than there")
    add("--out", type=Path, metavar="DIR", help="run directory (default: in runs/)")
    add("--base-url", metavar="URL", help="of openai/NAME's server (default: OPENAI_BASE_URL)")
    add("--concurrency", type=int, metavar="N", help="requests in flight there (default: 8)")
    add("--timeout", type=float, metavar="S", help="seconds for an answer (default: 600)")
    add("--retries", type=int, metavar="N", help="of a request that failed (default: 7)")
    add_prices(parser)
    parser.set_defaults(
        run=lazily("cli.reproduce", lambda module, given: module.run_reproduce(given))
    )


def _add_leaderboard(commands: Commands) -> None:
    parser = commands.add_parser(
        "leaderboard",
        help="build the leaderboard's site, serve it here, or check a branch with an entry",
        description="Verifies entries of a leaderboard, and makes a static site of them.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    _add_check(actions)
    build = actions.add_parser(
        "build",
        help="write the site",
        description="Writes a site that opens from disk. Ends with exit code 1, and without a "
        "site, if an entry is refused.",
    )
    _add_site(build, "the site; an older one there is replaced (default: site)")
    build.set_defaults(
        run=lazily(
            "cli.leaderboard",
            lambda module, given: module.run_build(
                given.leaderboard, given.out or Path("site"), not given.unverified
            ),
        )
    )
    serve = actions.add_parser(
        "serve", help="build the site and serve it on this machine alone, until Ctrl-C"
    )
    _add_site(serve, "keep the site in this directory")
    serve.add_argument(
        "--port", type=int, default=8000, metavar="N", help="0 for a free one (default: 8000)"
    )
    serve.set_defaults(
        run=lazily(
            "cli.leaderboard",
            lambda module, given: module.run_serve(
                given.leaderboard, given.out, given.port, not given.unverified
            ),
        )
    )


def _add_check(actions: Commands) -> None:
    check = actions.add_parser(
        "check",
        help="verify the entry that a branch adds, as is done with a pull request",
        description="Verifies the one entry that a branch adds or changes, taken out of git: "
        "nothing of the branch is run. Ends with exit code 1 if it is refused, or if the branch "
        "changes anything else.",
    )
    check.add_argument("base", metavar="BASE", help="a commit of the branch it goes into")
    check.add_argument(
        "head", nargs="?", default="HEAD", metavar="HEAD", help="its last commit (default: HEAD)"
    )
    check.set_defaults(
        run=lazily("cli.check", lambda module, given: module.run_check(given.base, given.head))
    )


def _add_site(parser: Parser, out: str) -> None:
    add = parser.add_argument
    add(
        "leaderboard",
        type=Path,
        nargs="?",
        default=Path("leaderboard"),
        metavar="LEADERBOARD",
        help="a directory with entries/ (default: leaderboard)",
    )
    add("--out", type=Path, metavar="DIR", help=out)
    add(
        "--unverified",
        action="store_true",
        help="replay nothing: entries are marked, and their trajectories left out",
    )
