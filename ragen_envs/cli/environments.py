"""`list`: the ids of the suite's environments."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ragen_envs.registration import IDS, NAMESPACE, TABLE


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    about = "list the suite's environments"
    commands.add_parser("list", help=about, description=about).set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print each id with what it is."""
    width = max(map(len, IDS))
    for env in IDS:
        sys.stdout.write(f"{env:<{width}}  {TABLE[env.removeprefix(f'{NAMESPACE}/')].about}\n")
    return 0
