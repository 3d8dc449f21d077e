"""Command lines whose errors are one line, and the arguments that choose an environment."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from ragen_envs.core.protocol import RESPONSE_FORMATS

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.served import Served


class UsageError(Exception):
    """A mistake of the user; its message is one line with the correction."""


class Parser(argparse.ArgumentParser):
    """Reads a command line, with the function that runs it as `run`; errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise the error as a UsageError."""
        raise UsageError(f"{message} (try `{self.prog} --help`)")


def add_environment(parser: Parser) -> None:
    """Add the arguments that choose the environment."""
    parser.add_argument("env", metavar="ENV", help="an id, or MODULE:ID to import MODULE first")
    parser.add_argument("--openenv", action="store_true", help="for OpenEnv")
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="train|val|test|sealed",
        help="a split; may be repeated, and the first is the default "
        "(default: train, val and test; without test for NeMo Gym)",
    )
    parser.add_argument(
        "--response-format",
        default="think",
        choices=RESPONSE_FORMATS,
        help="the response format (default: think)",
    )


def served_by(options: argparse.Namespace) -> Served:
    """Return the environment that the options of `add_environment` choose."""
    if not options.openenv:
        raise UsageError("name the protocol: --openenv")
    try:
        from ragen_envs.integrations.openenv import Served

        return Served.of(options.env, options.split, options.response_format)
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from error
