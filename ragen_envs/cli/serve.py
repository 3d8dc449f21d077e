"""`serve`: serves an environment to clients."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ragen_envs.cli.parser import UsageError, add_environment, served_by

if TYPE_CHECKING:
    from ragen_envs.integrations.openenv.served import Limits


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    about = "serve an environment for clients of another project"
    parser = commands.add_parser("serve", help=about, description=about)
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
        ("idle-timeout", float, "SECONDS", "idle time after which a session closes (default: 600)"),
        ("max-message", int, "BYTES", "maximum message size (default: 262144)"),
    ):
        parser.add_argument(
            f"--{name}", type=kind, metavar=metavar, help=about, default=argparse.SUPPRESS
        )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the process is interrupted."""
    served = served_by(options)
    limits = _limits(options)
    from ragen_envs.integrations.openenv.served import listen, url_of

    try:
        listening = listen(options.host, options.port)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot listen on {options.host} port {options.port}: {reason}; choose another --port"
        ) from error
    from ragen_envs.integrations.openenv.server import (  # slow import, so after the checks
        app,
        serve,
    )

    application = app(served, limits=limits)
    sys.stdout.write(
        f"{served.env} at {url_of(listening)} for OpenEnv: {', '.join(served.sizes)}; "
        f"{limits.max_sessions} sessions at once\n"
    )
    sys.stdout.flush()
    serve(application, listening)
    return 0


def _limits(options: argparse.Namespace) -> Limits:
    from ragen_envs.integrations.openenv.served import Limits, hosts_of

    names = ("max_sessions", "idle_timeout", "max_message")
    try:
        return Limits(
            hosts=hosts_of(options.host, options.allow_host),
            origins=tuple(options.allow_origin),
            **{name: getattr(options, name) for name in names if name in options},
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
