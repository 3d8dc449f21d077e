"""The `ragen-envs` command: lists the environments, and serves or packages one for others."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ragen_envs.cli import environments, package, serve
from ragen_envs.cli.parser import Parser, UsageError

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""


def parser() -> Parser:
    """Return the parser of `ragen-envs`."""
    program = Parser(prog="ragen-envs", description="Text environments for other projects.")
    commands = program.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for command in (environments, serve, package):
        command.add_to(commands)
    return program


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 2 for a usage error."""
    program = parser()
    try:
        options = program.parse(arguments)
        code: int = options.run(options)
        return code
    except UsageError as error:
        sys.stderr.write(f"{program.prog}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe.
        sys.stderr.close()
        return 0
