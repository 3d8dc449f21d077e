"""The arguments of the commands on environments: `list`, `describe`, `play`, `audit`, `sealed`."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.cli.arguments.base import Commands, Parser, lazily


def add(commands: Commands) -> None:
    """Add them."""
    _add_playing(commands)
    _add_audit(commands)
    _add_sealed(commands)


def _add_playing(commands: Commands) -> None:
    parser = commands.add_parser("list", help="environments, suites and models")
    parser.set_defaults(run=lazily("cli.show", lambda module, given: module.list_all()))
    parser = commands.add_parser("describe", help="an environment's specification")
    parser.add_argument("env", metavar="ENV")
    parser.set_defaults(run=lazily("cli.show", lambda module, given: module.describe(given.env)))
    parser = commands.add_parser("play", help="play an environment yourself")
    parser.add_argument("env", metavar="ENV")
    parser.add_argument("--split", default="train", metavar="NAME", help="default: train")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which instance")
    parser.add_argument("--rollout", type=int, default=0, metavar="N", help="which noise")
    parser.add_argument(
        "--browser", action="store_true", help="on a page in the browser, not in the terminal"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="of the page (default: 0, which is a free one)"
    )
    parser.set_defaults(run=lazily("console.play", lambda module, given: module.run_play(given)))


def _add_audit(commands: Commands) -> None:
    parser = commands.add_parser(
        "audit",
        help="prove the suite's guarantees on this machine, or check another environment",
        description="Generates, solves and compares instances of the suite's environments and "
        "runs the testing kit on them; on another environment it runs the kit.",
    )
    add = parser.add_argument
    add(
        "env",
        nargs="*",
        metavar="ENV",
        help="ids of the suite (default: all), other ids such as my_pkg:my/Env-v0, or "
        "python:MODULE:ATTRIBUTE, a ragen_envs.testing.Subject or what makes an environment",
    )
    add("--levels", type=int, default=1000, metavar="N", help="train instances (default: 1000)")
    add("--sealed", action="store_true", help="look at the sealed split too; its key is needed")
    add("--out", type=Path, metavar="FILE", help="write everything that was counted as JSON")
    parser.set_defaults(
        run=lazily(
            "console.audit",
            lambda module, given: module.audit(given.env, given.levels, given.sealed, given.out),
        )
    )


def _add_sealed(commands: Commands) -> None:
    parser = commands.add_parser(
        "sealed",
        help="keys of the sealed split: make one, publish its hash, check it afterwards",
        description="A host makes a key, publishes its hash before an event and the key after it.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    action = actions.add_parser("new", help="write a new key to a file and print its hash")
    action.add_argument("file", type=Path, metavar="FILE")
    action.set_defaults(run=lazily("cli.sealed", lambda module, given: module.new(given.file)))
    action = actions.add_parser("hash", help="print the hash of a key, to be published")
    action.add_argument("file", type=Path, metavar="FILE")
    action.set_defaults(
        run=lazily("cli.sealed", lambda module, given: module.show_hash(given.file))
    )
    action = actions.add_parser("check", help="compare a published key with the hash before it")
    action.add_argument("file", type=Path, metavar="FILE")
    action.add_argument("hash", metavar="HASH")
    action.set_defaults(
        run=lazily("cli.sealed", lambda module, given: module.check(given.file, given.hash))
    )
