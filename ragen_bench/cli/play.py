"""`play`: lets a person play an environment, in the terminal or on a page."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import visible

if TYPE_CHECKING:
    from ragen_bench.pages.play.episode import HumanEpisode

_QUIT = {"q", "quit", "exit"}
_LIST = "?"
_MAX_LISTED = 40
"""Actions that are listed at once at most; `?TEXT` lists those with a text."""


@dataclass(frozen=True, kw_only=True)
class Play(Command):
    """Lets you play an environment."""

    env: Annotated[str, Argument("ENV")]
    split: Annotated[str, Option("NAME", "train, val or test")] = "train"
    seed: Annotated[int, Option("N", "index of the instance")] = 0
    noise_seed: Annotated[int, Option("N", "seed of the noise")] = 0
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    port: Annotated[int | None, Option("N", "port of the page (default: 0, a free one)")] = None

    def run(self) -> int:
        """Play one episode, or serve the page until Ctrl-C."""
        from ragen_bench.pages.play.episode import HumanEpisode, choose_episode

        choice = choose_episode(self.env, self.split, self.seed, self.noise_seed)
        if self.browser:
            from ragen_bench.pages.play.server import PlayServer

            PlayServer(choice, self.port or 0).serve("Play")
            return 0
        if self.port is not None:
            raise UserError("--port goes with --browser; remove it, or add --browser")
        _play_in_terminal(HumanEpisode(choice))
        return 0


def _play_in_terminal(episode: HumanEpisode) -> None:
    from ragen_bench.pages.play.episode import describe_ending

    sys.stdout.write(
        f"{visible(episode.observation)}\n\n(q ends the game, {_LIST} lists the actions)\n"
    )
    while not episode.over:
        response = _read_response(episode)
        if response is None:
            sys.stdout.write("You left the game.\n")
            return
        episode.play(response)
        sys.stdout.write(f"\n{visible(episode.observation)}\n\n")
    ending = describe_ending(episode)
    score = "" if ending.score is None else f", score {ending.score:.2f}"
    lines = [f"{ending.verdict}. Return {ending.total:.2f}{score}."]
    lines += [f"  {name}: {value:.2f}" for name, value in ending.parts.items()]
    if ending.oracle:
        lines.append(f"The oracle in the same episode, return {ending.oracle_total:.2f}:")
    lines += [f"  {turn.answer}" for turn in ending.oracle]
    sys.stdout.write(visible("\n".join(lines) + "\n"))


def _read_response(episode: HumanEpisode) -> str | None:
    """Return a line of input; None at its end, or when the player leaves."""
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        words = line.strip().lower()
        if not line or words in _QUIT:
            return None
        if words.startswith(_LIST):
            sys.stdout.write(visible(_list_actions(episode, words.removeprefix(_LIST).strip())))
        elif words:
            return line.rstrip("\n")
        else:  # an empty line is a slip, and would cost a turn
            sys.stdout.write(f"The line is empty. {_LIST} lists the actions.\n")


def _list_actions(episode: HumanEpisode, text: str) -> str:
    """Return the legal actions that contain a text in lower case, one a line."""
    free = episode.env.free_text
    own = [f"{free.before}WORDS{free.after}, with any words"] if free else []
    matching = [action for action in episode.env.legal_actions if text in action.lower()]
    lines = [*own, *matching[:_MAX_LISTED]]
    if len(matching) > _MAX_LISTED:
        rest = len(matching) - _MAX_LISTED
        lines.append(f"... and {rest} more; {_LIST}TEXT lists those with TEXT")
    return "Actions:\n" + "".join(f"  {line}\n" for line in lines)
