"""`package`: writes the folder from which OpenEnv builds an image."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ragen_envs.cli.parser import UsageError, add_environment, served_by


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    about = "write the folder from which OpenEnv builds an image"
    parser = commands.add_parser("package", help=about, description=about)
    add_environment(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--requirement",
        action="append",
        default=[],
        metavar="REQ",
        help="an extra package of the image, such as the one that registers MODULE:ID",
    )
    parser.add_argument(
        "--wheel",
        type=Path,
        metavar="FILE",
        help="ragen-bench itself as a wheel, which is copied; without it the image installs "
        "the release",
    )
    parser.add_argument(
        "--reward-range",
        nargs=2,
        type=float,
        metavar=("LEAST", "MOST"),
        help="lowest and highest reward of one step; needed for an environment of another package",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the folder."""
    served = served_by(options)
    from ragen_envs.integrations.openenv.package import write_package

    try:
        write_package(
            options.out,
            served,
            requirements=options.requirement,
            wheel=options.wheel,
            reward_range=options.reward_range,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    sys.stdout.write(
        f"{options.out}  check it with: openenv validate {options.out} --level static\n"
    )
    return 0
