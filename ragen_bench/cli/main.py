"""Reads the command line and calls one function for it."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from ragen_bench.cli.arguments import parser
from ragen_bench.errors import INTERRUPTED, UserError
from ragen_envs.sealed import SealedKeyError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    _print_whatever_the_terminal_holds()
    try:
        parsed = parser().parse_args(arguments)
        return int(parsed.run(parsed))
    except UserError as error:
        sys.stderr.write(f"ragen-bench: {error}\n")
        return error.exit_code
    except SealedKeyError as error:
        sys.stderr.write(f"ragen-bench: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\nragen-bench: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has had enough.
        sys.stderr.close()
        return 0
    except OSError as error:
        # A directory that cannot be written, a full disk: no fault of the program's.
        place = "" if error.filename is None else f"{error.filename}: "
        sys.stderr.write(f"ragen-bench: {place}{error.strerror or error}\n")
        return 1


def _print_whatever_the_terminal_holds() -> None:
    """Show a question mark for what the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
