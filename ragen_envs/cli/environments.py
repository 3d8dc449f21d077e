"""`list`: the ids of the suite's environments."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ragen_envs.registration import all_games, find_variant


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    about = "list the suite's environments"
    commands.add_parser("list", help=about, description=about).set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print each id with its description."""
    ids = [id_ for game in all_games() for id_ in game.ids]
    width = max(map(len, ids))
    for id_ in ids:
        sys.stdout.write(f"{id_:<{width}}  {find_variant(id_).description}\n")
    return 0
