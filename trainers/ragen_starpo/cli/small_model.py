"""`small-model`: a model to begin with on two cores."""

from __future__ import annotations

import argparse

from ragen_bench.console.plain import plain_console
from ragen_starpo.engine.quiet import libraries_quiet
from ragen_starpo.made_folder import MadeFolder
from ragen_starpo.small_model import Shape, make_small_model


def run_small_model(given: argparse.Namespace) -> int:
    """Write an untrained model and say how large it is.

    Raises:
        UserError: if the folder holds anything else.
    """
    folder = MadeFolder(given.out, {"command": "small-model", "seed": given.seed})
    with libraries_quiet(), folder.written() as draft:
        parameters = make_small_model(draft, Shape(), given.seed)
    plain_console().print(f"Model  {given.out}, {parameters:,} parameters", soft_wrap=True)
    return 0
