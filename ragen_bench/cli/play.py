"""`play`: a person in any environment, in the terminal or on a page."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Lets you play an environment."""

    env: Annotated[str, Argument("ENV")]
    split: Annotated[str, Option("NAME", "train, val or test")] = "train"
    seed: Annotated[int, Option("N", "which instance")] = 0
    noise_seed: Annotated[int, Option("N", "which noise")] = 0
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    port: Annotated[int | None, Option("N", "of the page (default: 0, which is a free one)")] = None

    def run(self) -> int:
        """Play one episode, or serve the page until Ctrl-C."""
        from ragen_bench.pages.play import HumanEpisode, choose_episode

        choice = choose_episode(self.env, self.split, self.seed, self.noise_seed)
        if self.browser:
            from ragen_bench.pages.play.server import PlayServer

            PlayServer(choice, self.port or 0).serve(_announce)
            return 0
        if self.port is not None:
            raise UserError("--port is of the page; it goes with --browser")
        from ragen_bench.console.play import play

        play(HumanEpisode(choice))
        return 0


def _announce(url: str) -> None:
    sys.stdout.write(f"Play at {url} - Ctrl-C ends.\n")
    sys.stdout.flush()
