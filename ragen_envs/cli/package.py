"""`ragen-envs package`: the folder from which another project installs an environment."""

from __future__ import annotations

import argparse
from pathlib import Path

from ragen_envs.cli.usage import Parser, UsageError, add_environment, served_by
from ragen_envs.core.visible import write_out

_PROJECTS = {
    "split": ("openenv", "nemo_gym"),
    "requirement": ("openenv", "nemo_gym"),
    "instances": ("nemo_gym",),
    "wheel": ("openenv",),
    "reward_range": ("openenv",),
}
"""The projects of an option that is not for all."""


def add_package(parser: Parser) -> None:
    """Add the command's arguments."""
    add_environment(parser)
    parser.add_argument(
        "--nemo-gym", action="store_true", help="for NeMo Gym: a resources server and its data sets"
    )
    parser.add_argument(
        "--verifiers",
        action="store_true",
        help="for verifiers and its Hub: a taskset; ENV may be a suite, such as core",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--instances",
        type=int,
        metavar="N",
        help="for NeMo Gym: maximum number of instances in the data set of a split (default: 64)",
    )
    parser.add_argument(
        "--requirement",
        action="append",
        default=[],
        metavar="REQ",
        help="an extra package, such as the one that registers MODULE:ID",
    )
    parser.add_argument(
        "--wheel",
        type=Path,
        metavar="FILE",
        help="for OpenEnv: ragen-bench itself as a wheel, which is copied; without it the image "
        "installs the release",
    )
    parser.add_argument(
        "--reward-range",
        nargs=2,
        type=float,
        metavar=("LEAST", "MOST"),
        help="for OpenEnv: lowest and highest reward of one step; needed for an environment of "
        "another package",
    )
    parser.set_defaults(run=_package)


def _package(options: argparse.Namespace) -> int:
    """Write the folder for the project that the options name."""
    writers = {
        "openenv": _write_openenv,
        "nemo_gym": _write_nemo_gym,
        "verifiers": _write_verifiers,
    }
    chosen = [write for name, write in writers.items() if getattr(options, name)]
    if len(chosen) != 1:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in writers)
        raise UsageError(f"name one project: {names}")
    for option, projects in _PROJECTS.items():
        given = getattr(options, option)
        if given not in (None, []) and not any(getattr(options, name) for name in projects):
            names = " and ".join(f"--{name.replace('_', '-')}" for name in projects)
            raise UsageError(f"--{option.replace('_', '-')} is for {names}; remove it")
    try:
        hint = chosen[0](options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    write_out(f"{options.out}  {hint}\n")
    return 0


def _write_openenv(options: argparse.Namespace) -> str:
    served = served_by(options)
    from ragen_envs.integrations.openenv.package import write_package

    write_package(
        options.out,
        served,
        requirements=options.requirement,
        wheel=options.wheel,
        reward_range=options.reward_range,
    )
    return f"check it with: openenv validate {options.out} --level static"


def _write_nemo_gym(options: argparse.Namespace) -> str:
    from ragen_envs.integrations.nemo_gym import write_package

    config = write_package(
        options.out,
        options.env,
        options.split or ("train", "val"),
        options.response_format,
        64 if options.instances is None else options.instances,
        options.requirement,
    )
    path = config.relative_to(options.out).as_posix()
    return f"start it with: gym env start --search-dir {options.out} --config {path}"


def _write_verifiers(options: argparse.Namespace) -> str:
    from ragen_envs.integrations.hub import write_package

    package = write_package(options.out, options.env)
    return f"install it with: pip install {options.out}; then vf-validate {package}"
