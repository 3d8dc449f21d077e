"""What the parsers of all commands share."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from ragen_bench.errors import UserError, nearest, unknown


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here, where the command's own options are known."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            options = (option for action in self._actions for option in action.option_strings)
            # Without the dashes, which would make any two of them alike.
            known = {option.strip("-"): option for option in options}
            meant = nearest(rest[0].partition("=")[0].strip("-"), known)
            hint = f"; did you mean {known[meant]}?" if meant else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name the command that is nearest to an unknown one."""
        if action.choices is not None and value not in action.choices:
            raise unknown(str(action.metavar or action.dest).lower(), value, action.choices)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a UserError."""
        raise UserError(f"{message} (try `{self.prog} --help`)")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""Where a group of commands adds its own; argparse names the type in its stubs only."""


def lazily(
    module: str, call: Callable[[Any, argparse.Namespace], int]
) -> Callable[[argparse.Namespace], int]:
    """Return a command that imports its module when it is called.

    So `list` does not wait for what `evaluate` needs.

    Args:
        module: its name in `ragen_bench`.
        call: from the module and the arguments to the exit code.
    """
    return lambda arguments: call(importlib.import_module(f"ragen_bench.{module}"), arguments)


def add_prices(parser: Parser) -> None:
    """Add the option that names a file of prices."""
    parser.add_argument(
        "--prices", type=Path, metavar="FILE", help="what tokens cost (default: $RAGEN_PRICES)"
    )
