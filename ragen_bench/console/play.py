"""`play`: a person in any environment, in the terminal or on a page."""

from __future__ import annotations

import argparse
import sys

from ragen_bench.errors import UserError
from ragen_bench.pages.play import Ending, HumanEpisode, choose_episode, ending_of

_QUIT = {"q", "quit", "exit"}
_LIST = "?"
_MOST_LISTED = 40
"""Lines: of a game that lists hundreds of actions, `?TEXT` finds some."""


def run_play(arguments: argparse.Namespace) -> int:
    """Let a person play.

    Raises:
        UserError: for anything in the command that cannot be.
    """
    choice = choose_episode(arguments.env, arguments.split, arguments.seed, arguments.rollout)
    if arguments.browser:
        from ragen_bench.pages.play.server import PlayServer

        PlayServer(choice, arguments.port or 0).serve(_announce)
        return 0
    if arguments.port is not None:
        raise UserError("--port is of the page; it goes with --browser")
    return play(HumanEpisode(choice))


def play(episode: HumanEpisode) -> int:
    """Play one episode with answers from standard input.

    Args:
        episode: the episode, at its beginning.
    """
    sys.stdout.write(f"{episode.observation}\n\n(q ends the game, {_LIST} lists the actions)\n")
    while not episode.over:
        answer = _ask(episode)
        if answer is None:
            sys.stdout.write("You left the game.\n")
            return 0
        episode.play(answer)
        sys.stdout.write(f"\n{episode.observation}\n\n")
    sys.stdout.write(_told(ending_of(episode)))
    return 0


def _ask(episode: HumanEpisode) -> str | None:
    """Return a line, or None at its end or when the player wants to leave."""
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        said = line.strip().lower()
        if not line or said in _QUIT:
            return None
        if said.startswith(_LIST):
            sys.stdout.write(_actions(episode, said.removeprefix(_LIST).strip()))
        elif said:
            return line.rstrip("\n")
        else:  # a slip of the finger, which would cost a turn
            sys.stdout.write(f"Nothing was said. {_LIST} lists what can be answered.\n")


def _actions(episode: HumanEpisode, wanted: str) -> str:
    """Return what may be answered now, one action a line.

    Args:
        episode: the episode.
        wanted: a part of the actions to list, in small letters.
    """
    free = episode.env.free_text
    own = [f"{free.before}WORDS{free.after}, with any words"] if free else []
    listed = [each for each in episode.env.legal_actions if wanted in each.lower()]
    lines = [*own, *listed[:_MOST_LISTED]]
    if len(listed) > _MOST_LISTED:
        more = len(listed) - _MOST_LISTED
        lines.append(f"... and {more} more; {_LIST}TEXT lists those with TEXT")
    return "What can be answered:\n" + "".join(f"  {line}\n" for line in lines)


def _told(ending: Ending) -> str:
    lines = [f"{ending.verdict}. Return {ending.total:.2f}, score {ending.score:.2f}."]
    lines += [f"  {name}: {value:.2f}" for name, value in ending.parts.items()]
    lines.append(f"The oracle in the same episode, return {ending.oracle_total:.2f}:")
    lines += [f"  {turn.answer}" for turn in ending.oracle]
    return "\n".join(lines) + "\n"


def _announce(url: str) -> None:
    sys.stdout.write(f"Play at {url} - Ctrl-C ends.\n")
    sys.stdout.flush()
