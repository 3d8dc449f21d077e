"""A program of commands: parses its command line, runs the command, and reports errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ragen_bench.cli.options import Command
from ragen_bench.cli.parser import Parser
from ragen_bench.errors import INTERRUPTED, MissingExtraError, UserError, missing_extra
from ragen_bench.visible import visible


def run_program(parser: Parser, arguments: Sequence[str] | None) -> int:
    """Run the command that a command line names, and return the exit code.

    Args:
        parser: of the program.
        arguments: the words of the command line; those of this process if None.
    """
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for the words that may follow
        from argcomplete import autocomplete

        autocomplete(parser)
    resumes = False
    try:
        command = parser.parse(arguments)
        resumes = command.resumes
        return _run(command)
    except UserError as error:
        sys.stderr.write(f"{parser.prog}: {visible(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        goes_on = "; the same command goes on from the latest checkpoint" if resumes else ""
        sys.stderr.write(f"\n{parser.prog}: interrupted{goes_on}\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has had enough.
        sys.stderr.close()
        return 0
    except OSError as error:
        # A directory that cannot be written, a full disk: not a fault of the program.
        place = "" if error.filename is None else f"{error.filename}: "
        sys.stderr.write(f"{parser.prog}: {visible(f'{place}{error.strerror or error}')}\n")
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
