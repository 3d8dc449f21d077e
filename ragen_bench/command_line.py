"""Typed command lines: a command is a dataclass, and its fields are its options.

A field's annotation says how it is typed: `Annotated[int, Option("N", "number of episodes")]` is
`--name N`, `Annotated[str, Argument("ENV", "its id")]` is positional. A field without a default is
required. `bool` is a switch, `bool | None` a switch that can be negated, `tuple[str, ...]` an
option that may be repeated or any number of arguments. `X | None` has the default None.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from types import NoneType
from typing import Any, ClassVar, NoReturn, TypeAlias, cast, get_args, get_origin, get_type_hints

from ragen_bench.errors import (
    INTERRUPTED,
    MissingExtraError,
    UserError,
    missing_extra,
    nearest,
    unknown,
)
from ragen_bench.json_types import JsonObject
from ragen_bench.visible import visible, write_error, write_out


@dataclass(frozen=True)
class Option:
    """Help and metavar of an option, `--the-field METAVAR`.

    A switch has the metavar None. If the value may be left out, the metavar is in brackets, and the
    value is then a dash. The default is added to `about`.
    """

    metavar: str | None
    about: str


@dataclass(frozen=True)
class Argument:
    """Help and metavar of a positional argument."""

    metavar: str
    about: str = ""


class Command(ABC):
    """A command. Subclasses are frozen dataclasses; their docstring is the command's help.

    `extra` is the extra of this distribution that has the packages which the command needs.
    `resumes` says that the same command resumes an interrupted one. The help ends with `examples`.
    A class that a command inherits options from may have a `heading`, that of these options
    in the help of a command with many. `others` are options of other programs that somebody may
    mean, without dashes and with `-` for `_`. A value is what they mean here, or a sentence.
    """

    extra: ClassVar[str] = "bench"
    resumes: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ()
    others: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def run(self) -> int:
        """Run the command and return the exit code; a UserError reports an invalid option."""


@dataclass(frozen=True)
class Group:
    """Commands that share a first name, such as `sealed new` and `sealed hash`."""

    about: str
    actions: Mapping[str, type[Command]]


Commands: TypeAlias = Mapping[str, type[Command] | Group]


class Parser(argparse.ArgumentParser):
    """Reads a command line, and reports a mistake in one line."""

    others: Mapping[str, str] = {}
    """Commands, or a command's options, of other programs, with ours that are meant."""
    _intermixing = False

    def parse(self, arguments: Sequence[str] | None) -> Command:
        """Return the command with its options; a UserError if the words are not such a command."""
        words = list(sys.argv[1:] if arguments is None else arguments)
        for number, (word, following) in enumerate(pairwise((*words, ""))):
            if word == "--json" and following != "-" and not following.endswith(".json"):
                words[number] = "--json=-"
        values = vars(self.parse_args(words))
        command = cast(type[Command], values.pop("command"))
        # argparse collects repeated values in lists.
        return command(
            **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        )

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments here, where the command's own options are known."""
        if self._intermixing:  # argparse calls this once for options, and once for arguments
            return super().parse_known_args(args, namespace)
        parse = super().parse_known_args
        if any(action.nargs in ("*", "+") for action in self._get_positional_actions()):
            # Options may stand between the arguments of any number.
            parse = self.parse_known_intermixed_args
            self._intermixing = True
        try:
            parsed, rest = parse(args, namespace)
        finally:
            self._intermixing = False
        if rest:
            options = (option for action in self._actions for option in action.option_strings)
            # Compared without the dashes, which would make any two options alike.
            known = {option.strip("-"): option for option in options}
            word = rest[0].partition("=")[0].strip("-")
            near = nearest(word, known)
            meant = self.others.get(word.replace("_", "-"), known[near] if near else "")
            hint = f"; did you mean {meant}?" if meant else ""
            if meant.endswith("."):
                hint = f"; {meant.removesuffix('.')}"
            typed = " ".join(rest).replace("--json=-", "--json")
            self.error(f"unrecognized arguments: {typed}{hint}")
        return parsed, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the command that is nearest to an unknown one."""
        if action.choices is not None and value not in action.choices:
            if value in self.others:
                raise UserError(f"{self.prog} has no {value}; did you mean {self.others[value]}?")
            raise unknown(str(action.metavar).lower(), value, action.choices)

    def error(self, message: str) -> NoReturn:
        """Raise the mistake as a UserError."""
        raise UserError(f"{message} (try `{self.prog} --help`)")


class _Formatter(argparse.HelpFormatter):
    """Keeps paragraphs, and the lines of those that are indented."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        paragraphs = text.split("\n\n")
        return "\n\n".join(
            each if "\n  " in each else fill(each, width, indent) for each in paragraphs
        )


def make_parser(program: str, about: str, commands: Commands) -> Parser:
    """Return the parser of a program with commands; `about` is its purpose in a sentence."""
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


def run_program(parser: Parser, arguments: Sequence[str] | None) -> int:
    """Run the command that a command line names, report errors, and return the exit code."""
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for the words that may follow
        from argcomplete import autocomplete

        autocomplete(parser)
    resumes = False
    try:
        command = parser.parse(arguments)
        resumes = command.resumes
        return _run(command)
    except UserError as error:
        write_error(f"{parser.prog}: {visible(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        hint = "; the same command goes on with what it has stored" if resumes else ""
        write_error(f"\n{parser.prog}: interrupted{hint}\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed it.
        sys.stderr.close()
        return 0
    except OSError as error:
        # A directory that cannot be written, a full disk: not a bug of the program.
        place = "" if error.filename is None else f"{error.filename}: "
        write_error(f"{parser.prog}: {visible(f'{place}{error.strerror or error}')}\n")
        return 1


def _run(command: Command) -> int:
    """Run a command, and name the extra that it needs where a package is missing."""
    try:
        return command.run()
    except ImportError as missing:
        if (missing.name or "").startswith("ragen_"):
            raise
        raise missing_extra(missing, command.extra) from missing
    except MissingExtraError as error:
        # A command with an extra of its own needs all of it, not the part that the harness names.
        if isinstance(error.__cause__, ImportError) and command.extra != Command.extra:
            raise missing_extra(error.__cause__, command.extra) from error
        raise


class _Version(argparse.Action):
    """Prints the version; reading it takes time, so only on demand."""

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("ragen-bench")
        except PackageNotFoundError:
            number = "(not installed)"
        write_out(f"{parser.prog} {number}\n")
        parser.exit()


def _add_commands(parser: Parser, metavar: str, commands: Commands) -> None:
    subparsers = parser.add_subparsers(metavar=metavar, required=True, parser_class=Parser)
    for name, command in commands.items():
        description = command.about if isinstance(command, Group) else inspect.getdoc(command) or ""
        summary = description.partition("\n")[0].removesuffix(".").replace("%", "%%")
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=description,
            formatter_class=_Formatter,
            add_help=isinstance(command, Group),
        )
        if isinstance(command, Group):
            _add_commands(subparser, "ACTION", command.actions)
        else:
            _add_options(subparser, command)
            subparser.others = command.others
            subparser.set_defaults(command=command)


_MANY = 12
"""Options that need headings."""


def _add_options(parser: Parser, command: type[Command]) -> None:
    hints = get_type_hints(command, include_extras=True)
    arguments: list[str] = []
    required: list[str] = []
    every = fields(command)  # type: ignore[arg-type]  # a command is a dataclass
    headings: dict[str, Any] = {"": parser}
    for field in every:
        kind, metadata = get_args(hints[field.name])
        is_required = field.default is MISSING
        if isinstance(metadata, Argument):
            settings = _argument_settings(kind, metadata, field.default)
            action = parser.add_argument(field.name, **settings)
            word = metadata.metavar + (" ..." if get_origin(kind) is tuple else "")
            arguments.append(word if is_required else f"[{word}]")
        else:
            # A field that Python has a keyword for ends in an underscore: `as_` is `--as`.
            name = "--" + field.name.rstrip("_").replace("_", "-")
            settings = _option_settings(kind, metadata, field.default)
            heading = _find_heading(command, field.name) if len(every) > _MANY else ""
            if heading not in headings:
                headings[heading] = parser.add_argument_group(heading)
            action = headings[heading].add_argument(name, dest=field.name, **settings)
            if is_required:
                required.append(f"{name} {metadata.metavar}")
        if field.name in _COMPLETERS:
            action.completer = _COMPLETERS[field.name]  # type: ignore[attr-defined]  # argcomplete's
    [*_, last] = headings.values()
    last.add_argument("-h", "--help", action="help", help="show this help and exit")
    parser.usage = " ".join(["%(prog)s", *arguments, *required, "[options]"])
    if command.examples:
        parser.epilog = "\n  ".join(["examples:", *command.examples])


def _find_heading(command: type[Command], name: str) -> str:
    """Return the heading of the class that first defines an option."""
    owners = [each for each in command.__mro__ if name in inspect.get_annotations(each)]
    return str(owners[-1].__dict__.get("heading", ""))


def _complete_env(**_: object) -> list[str]:
    from ragen_envs.core.game_spec import NAMESPACE
    from ragen_envs.registration import all_games

    ids = [env for game in all_games() for env in (*game.ids, *game.opponent_ids)]
    return [env.removeprefix(f"{NAMESPACE}/") for env in ids]


def _complete_suite(**_: object) -> list[str]:
    from ragen_bench.suites import all_suites

    return list(all_suites())


_COMPLETERS = {"env": _complete_env, "suite": _complete_suite}
"""Shell completion of values, by field."""


def _argument_settings(kind: Any, metadata: Argument, default: object) -> JsonObject:
    settings = {
        "metavar": metadata.metavar,
        "help": _help_text(metadata.about, default),
        "type": _value_type(kind),
    }
    is_many = get_origin(kind) is tuple
    if default is not MISSING:
        nargs = argparse.ZERO_OR_MORE if is_many else argparse.OPTIONAL
        return {**settings, "nargs": nargs, "default": default}
    return {**settings, "nargs": argparse.ONE_OR_MORE} if is_many else settings


def _option_settings(kind: Any, metadata: Option, default: object) -> JsonObject:
    # An option that was not typed keeps the default of its field.
    settings = {"help": _help_text(metadata.about, default), "default": argparse.SUPPRESS}
    value_type, metavar = _value_type(kind), metadata.metavar or ""
    if kind is bool:
        return {**settings, "action": "store_true"}
    if value_type is bool:
        return {**settings, "action": argparse.BooleanOptionalAction}
    if metavar.startswith("["):
        settings |= {"nargs": argparse.OPTIONAL, "const": value_type("-")}
    return {
        **settings,
        "type": value_type,
        "metavar": metavar.strip("[]"),
        "required": default is MISSING,
        "action": "append" if get_origin(kind) is tuple else "store",
    }


def _value_type(kind: Any) -> Any:
    """Return the type that reads one word: the field's type without `tuple` or `| None`."""
    kinds = [each for each in get_args(kind) if each not in (NoneType, Ellipsis)]
    return kinds[0] if kinds else kind


def _help_text(about: str, default: object) -> str:
    # A switch that is off and an option that is not given have no default worth showing.
    is_shown = default is not MISSING and default is not False and default not in (None, (), "")
    text = f"{about} (default: {default})" if is_shown else about
    return text.replace("%", "%%")
