"""An episode that a person plays in the terminal."""

from __future__ import annotations

import sys

from ragen_bench.pages.play import Ending, HumanEpisode, ending_of
from ragen_bench.visible import visible

_QUIT = {"q", "quit", "exit"}
_LIST = "?"
_MOST_LISTED = 40
"""The most actions that are listed at once; `?TEXT` lists those with a text."""


def play(episode: HumanEpisode) -> None:
    """Play one episode with answers from standard input.

    Args:
        episode: at its beginning.
    """
    sys.stdout.write(
        f"{visible(episode.observation)}\n\n(q ends the game, {_LIST} lists the actions)\n"
    )
    while not episode.over:
        answer = _ask(episode)
        if answer is None:
            sys.stdout.write("You left the game.\n")
            return
        episode.play(answer)
        sys.stdout.write(f"\n{visible(episode.observation)}\n\n")
    sys.stdout.write(visible(_summary(ending_of(episode))))


def _ask(episode: HumanEpisode) -> str | None:
    """Return a line, or None at its end or when the player wants to leave."""
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        words = line.strip().lower()
        if not line or words in _QUIT:
            return None
        if words.startswith(_LIST):
            sys.stdout.write(visible(_actions(episode, words.removeprefix(_LIST).strip())))
        elif words:
            return line.rstrip("\n")
        else:  # a slip of the finger, which would cost a turn
            sys.stdout.write(f"Nothing was said. {_LIST} lists what can be answered.\n")


def _actions(episode: HumanEpisode, wanted: str) -> str:
    """Return what may be answered now, one action a line.

    Args:
        episode: which is played.
        wanted: a part of the actions to list, in small letters.
    """
    free = episode.env.free_text
    own = [f"{free.before}WORDS{free.after}, with any words"] if free else []
    listed = [action for action in episode.env.legal_actions if wanted in action.lower()]
    lines = [*own, *listed[:_MOST_LISTED]]
    if len(listed) > _MOST_LISTED:
        more = len(listed) - _MOST_LISTED
        lines.append(f"... and {more} more; {_LIST}TEXT lists those with TEXT")
    return "What can be answered:\n" + "".join(f"  {line}\n" for line in lines)


def _summary(ending: Ending) -> str:
    score = "" if ending.score is None else f", score {ending.score:.2f}"
    lines = [f"{ending.verdict}. Return {ending.total:.2f}{score}."]
    lines += [f"  {name}: {value:.2f}" for name, value in ending.parts.items()]
    if ending.oracle:
        lines.append(f"The oracle in the same episode, return {ending.oracle_total:.2f}:")
    lines += [f"  {turn.answer}" for turn in ending.oracle]
    return "\n".join(lines) + "\n"
