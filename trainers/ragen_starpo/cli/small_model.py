"""`small-model`: makes a small untrained model for two cores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ragen_bench.command_line import Argument, Command, Option


@dataclass(frozen=True, kw_only=True)
class SmallModel(Command):
    """Makes a small untrained model for two cores.

    Writes a Qwen2 model, of about 0.4 million parameters by default. Its tokenizer reads the boards
    of Sokoban and FrozenLake, or the arms of a Bandit.
    """

    extra: ClassVar[str] = "train"

    out: Annotated[Path, Argument("DIR", "the model")]
    seed: Annotated[int, Option("N", "seed of the weights")] = 0
    thinks: Annotated[bool, Option(None, "add tokens for the thoughts of a warm start")] = False
    bandit: Annotated[bool, Option(None, "read the two arms of a Bandit instead of boards")] = False
    width: Annotated[int, Option("N", "channels, a multiple of 8")] = 96
    layers: Annotated[int, Option("N", "number of transformer layers")] = 3

    def run(self) -> int:
        """Write the model and print its size."""
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.engine.quiet import libraries_quiet
        from ragen_starpo.made_folder import MadeFolder
        from ragen_starpo.small_model import Shape, make_small_model

        shape = Shape.of(self.width, self.layers)
        # Default values are not recorded, so that the shipped agent is reproduced to the byte.
        kind = {name: True for name in ("thinks", "bandit") if getattr(self, name)}
        size = {} if shape == Shape() else {"width": self.width, "layers": self.layers}
        made_by = {"command": "small-model", "seed": self.seed, **kind, **size}
        folder = MadeFolder(self.out, made_by)
        with libraries_quiet(), folder.write() as draft:
            parameters = make_small_model(draft, shape, self.seed, self.thinks, self.bandit)
        plain_console().print(f"Model  {self.out}, {parameters:,} parameters", soft_wrap=True)
        return 0
