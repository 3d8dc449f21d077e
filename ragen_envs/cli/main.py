"""The `ragen-envs` command: lists the environments, and serves or packages one for others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ragen_envs.cli.package import add_package
from ragen_envs.cli.usage import Parser, UsageError, add_environment, served_by
from ragen_envs.core.visible import write_error, write_out
from ragen_envs.registration import all_games, find_variant

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""


def parser() -> Parser:
    """Return the parser of `ragen-envs`."""
    program = Parser(prog="ragen-envs", description="Text environments for other projects.")
    commands = program.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    about = "list the suite's environments"
    commands.add_parser("list", help=about, description=about).set_defaults(run=_list)
    about = "serve an environment for clients of another project"
    _add_serve(commands.add_parser("serve", help=about, description=about))
    about = "write the folder from which another project installs an environment"
    add_package(commands.add_parser("package", help=about, description=about))
    return program


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 2 for a usage error."""
    program = parser()
    try:
        options = program.parse_args(arguments)
        code: int = options.run(options)
        return code
    except UsageError as error:
        write_error(f"{program.prog}: {error}\n")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe.
        sys.stderr.close()
        return 0


def _list(_: argparse.Namespace) -> int:
    """Print each id with its description."""
    ids = [id_ for game in all_games() for id_ in game.ids]
    width = max(map(len, ids))
    for id_ in ids:
        write_out(f"{id_:<{width}}  {find_variant(id_).description}\n")
    return 0


def _add_serve(parser: Parser) -> None:
    add_environment(parser)
    parser.add_argument(
        "--host", default="127.0.0.1", help="where to listen (default: %(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="0 for a free one (default: 8000)"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="an extra name of the server, next to localhost and --host; * for any",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="origin of a web page that may connect, as https://example.org; * for any",
    )
    for name, kind, metavar, about in (
        ("max-sessions", int, "N", "concurrent sessions (default: 256)"),
        ("max-per-client", int, "N", "concurrent sessions of one address (default: all)"),
        ("idle-timeout", float, "SECONDS", "idle time after which a session closes (default: 600)"),
        ("max-message", int, "BYTES", "maximum message size (default: 262144)"),
    ):
        parser.add_argument(
            f"--{name}", type=kind, metavar=metavar, help=about, default=argparse.SUPPRESS
        )
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Serve until the process is interrupted."""
    served = served_by(options)
    from ragen_envs.integrations.openenv.served import Limits, hosts_of, listen, url_of

    names = ("max_sessions", "max_per_client", "idle_timeout", "max_message")
    try:
        limits = Limits(
            hosts=hosts_of(options.host, options.allow_host),
            origins=tuple(options.allow_origin),
            **{name: getattr(options, name) for name in names if name in options},
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    try:
        listening = listen(options.host, options.port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot listen on {options.host} port {options.port}: {reason}; choose another --port"
        ) from error
    from ragen_envs.integrations.openenv.server import app, serve  # slow, so after the checks

    application = app(served, limits=limits)
    write_out(
        f"{served.env} at {url_of(listening)} for OpenEnv: {', '.join(served.sizes)}; "
        f"{limits.max_sessions} sessions at once\n"
    )
    sys.stdout.flush()
    serve(application, listening)
    return 0
