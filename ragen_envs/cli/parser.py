"""The parser of a command line, whose mistakes are one line each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from ragen_envs.core.protocol import RESPONSE_FORMATS

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.served import Served


class UsageError(Exception):
    """A mistake that the user can mend; its message is one line that says how."""


class Parser(argparse.ArgumentParser):
    """Reads a command line, and says in one line what is wrong with it."""

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """Return the options of a command, with the function that runs it as `run`.

        Args:
            arguments: the words of the command line; those of this process if None.

        Raises:
            UsageError: If they are not a command with its options.
        """
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a UsageError."""
        raise UsageError(f"{message} (try `{self.prog} --help`)")


def add_environment(parser: Parser) -> None:
    """Add the arguments that say what is served."""
    parser.add_argument("env", metavar="ENV", help="an id, or MODULE:ID to import MODULE first")
    parser.add_argument(
        "--openenv", action="store_true", help="by OpenEnv's protocol, the only one so far"
    )
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="train|val|test|sealed",
        help="a split to serve; may be repeated, and the first is the default "
        "(default: train, val and test)",
    )
    parser.add_argument(
        "--response-format",
        default="think",
        choices=RESPONSE_FORMATS,
        help="the form of the answers (default: think)",
    )


def served_by(options: argparse.Namespace) -> Served:
    """Return the environment that the options of `add_environment` choose.

    Raises:
        UsageError: If the protocol is not named, its packages are not installed, or the options
            lead to no text environment.
    """
    if not options.openenv:
        raise UsageError("name the protocol: --openenv")
    try:
        from ragen_envs.integrations.openenv import Served

        return Served.of(options.env, options.split, options.response_format)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from error
