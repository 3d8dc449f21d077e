"""The parser of a command line: from words to a command with its options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn, cast

from ragen_bench.cli.options import Command, Group, add_options, help_of
from ragen_bench.errors import UserError, nearest, unknown


class Parser(argparse.ArgumentParser):
    """Reads a command line, and says in one line what is wrong with it."""

    _intermixing = False

    def parse(self, arguments: Sequence[str] | None) -> Command:
        """Return the command with its options.

        Args:
            arguments: the words of the command line; those of this process if None.

        Raises:
            UserError: if they are not a command with its options.
        """
        words = sys.argv[1:] if arguments is None else arguments
        values = vars(self.parse_args(list(_json_alone(words))))
        command = cast(type[Command], values.pop("command"))
        # argparse collects repeated values in lists.
        return command(
            **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here, where the command's own options are known."""
        if self._intermixing:  # argparse calls this once for options, and once for arguments
            return super().parse_known_args(args, namespace)
        parse = super().parse_known_args
        if any(action.nargs in ("*", "+") for action in self._get_positional_actions()):
            # Arguments of any number may stand anywhere among the options.
            parse = self.parse_known_intermixed_args
            self._intermixing = True
        try:
            parsed, rest = parse(args, namespace)
        finally:
            self._intermixing = False
        if rest:
            self._refuse(rest)
        return parsed, rest

    def _refuse(self, rest: Sequence[str]) -> NoReturn:
        options = (option for action in self._actions for option in action.option_strings)
        # Without the dashes, which would make any two of them alike.
        known = {option.strip("-"): option for option in options}
        meant = nearest(rest[0].partition("=")[0].strip("-"), known)
        hint = f"; did you mean {known[meant]}?" if meant else ""
        self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name the command that is nearest to an unknown one."""
        if action.choices is not None and value not in action.choices:
            raise unknown(str(action.metavar).lower(), value, action.choices)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a UserError."""
        raise UserError(f"{message} (try `{self.prog} --help`)")


def _json_alone(words: Sequence[str]) -> Iterator[str]:
    """Keep `--json` from taking the word behind it, unless that is `-` or ends in .json."""
    for word, following in pairwise((*words, "")):
        alone = word == "--json" and following != "-" and not following.endswith(".json")
        yield "--json=-" if alone else word


class _Version(argparse.Action):
    """Prints the version, which takes time to find out."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("ragen-bench")
        except PackageNotFoundError:
            number = "(not installed)"
        sys.stdout.write(f"{parser.prog} {number}\n")
        parser.exit()


def make_parser(program: str, about: str, commands: Mapping[str, type[Command] | Group]) -> Parser:
    """Return the parser of a program.

    Args:
        program: its name.
        about: what it is for, in a sentence.
        commands: all of them by their names.
    """
    parser = Parser(prog=program, description=about)
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        default=argparse.SUPPRESS,
        help="show the version and exit",
    )
    _add_commands(parser, "COMMAND", commands)
    return parser


def _add_commands(
    parser: Parser, metavar: str, commands: Mapping[str, type[Command] | Group]
) -> None:
    subparsers = parser.add_subparsers(metavar=metavar, required=True, parser_class=Parser)
    for name, command in commands.items():
        description = help_of(command)
        summary = description.partition("\n")[0].removesuffix(".").replace("%", "%%")
        own = subparsers.add_parser(name, help=summary, description=description)
        if isinstance(command, Group):
            _add_commands(own, "ACTION", command.actions)
        else:
            add_options(own, command)
            own.set_defaults(command=command)
