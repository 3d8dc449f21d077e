"""`annotate`: blind ratings of trajectories, and how far the raters agree."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from ragen_bench.console.visible import visible
from ragen_bench.errors import UserError
from ragen_bench.pages.annotation import (
    QUESTIONS,
    SCALE,
    Rating,
    Session,
    Trace,
    distinct,
    krippendorff_alpha,
    ratings_of,
)
from ragen_bench.runs.directory import Key, read_run

_RULE = "-" * 72
_KEYS = {name[0]: level for level, name in enumerate(SCALE)}


def run_annotate(arguments: argparse.Namespace) -> int:
    """Let a rater rate, or say how far raters agree.

    Raises:
        UserError: for anything in the command that cannot be.
    """
    runs: list[Path] = arguments.runs
    for run in runs:
        read_run(run)
    if arguments.agreement:
        sys.stdout.write(agreement(runs))
        return 0
    if arguments.rater is None:
        raise UserError("--rater NAME says whose ratings they are; or ask for --agreement")
    session = Session(runs, arguments.rater, arguments.count, arguments.seed)
    if arguments.browser:
        from ragen_bench.pages.annotation.server import AnnotationServer

        server = AnnotationServer(session)
        server.serve(lambda url: sys.stdout.write(f"Rate at {url} - Ctrl-C ends.\n"))
        return 0
    return _rate_in_the_terminal(session)


def agreement(runs: Iterable[Path]) -> str:
    """Return a table of the ratings of all raters and of Krippendorff's alpha.

    Args:
        runs: run directories.

    Raises:
        UserError: if one is named twice, or a line of its ratings is none.
    """
    units: dict[tuple[Path, Key], list[Rating]] = {}
    for run in distinct(runs):
        for rating in ratings_of(run):
            units.setdefault((run, rating.key), []).append(rating)
    found = [rating for unit in units.values() for rating in unit]
    if not found:
        return "No ratings yet.\n"
    raters = {rating.rater for rating in found}
    shared = sum(len(unit) > 1 for unit in units.values())
    lines = [
        f"{len(found)} ratings by {len(raters)} raters; {shared} of {len(units)} episodes were "
        "rated by more than one.",
        f"{'':<16}{'no':>6}{'partly':>8}{'yes':>6}{'alpha':>8}",
    ]
    for question in QUESTIONS:
        levels = [[getattr(rating, question) for rating in unit] for unit in units.values()]
        flat = [level for unit in levels for level in unit]
        alpha = krippendorff_alpha(levels, len(SCALE))
        counts = [flat.count(level) for level in range(len(SCALE))]
        shown = "-" if alpha is None else f"{alpha:.2f}"
        lines.append(f"{question:<16}{counts[0]:>6}{counts[1]:>8}{counts[2]:>6}{shown:>8}")
    lines.append("alpha: Krippendorff's, ordinal; 1 is full agreement, 0 is chance.")
    return "\n".join(lines) + "\n"


def _rate_in_the_terminal(session: Session) -> int:
    waiting = session.waiting()
    done = len(session.chosen) - len(waiting)
    sys.stdout.write(
        f"{len(waiting)} episodes to rate, {done} rated. Who played is not shown. For each "
        f"question: {', '.join(f'{name[0]} {name}' for name in SCALE)}; q leaves, and what is "
        "rated is kept.\n"
    )
    for number, (run, key) in enumerate(waiting, start=done + 1):
        sys.stdout.write(f"\n{_RULE}\nEpisode {number} of {len(session.chosen)}\n")
        sys.stdout.write(_text(session.trace(run, key)))
        ratings = _asked(QUESTIONS.items())
        if ratings is None:
            sys.stdout.write(f"\n{number - 1} of {len(session.chosen)} rated.\n")
            return 0
        comment = _line("Comment (or Enter): ")
        session.rate(run, key, ratings, comment or "")
    sys.stdout.write("\nAll are rated. Thank you.\n")
    return 0


def _text(trace: Trace) -> str:
    turns = "".join(
        f"\n--- Turn {number}\n{visible(observation)}\n\n>>> {visible(answer)}\n"
        for number, (observation, answer) in enumerate(trace.turns, start=1)
    )
    return f"{turns}\n--- End\n{visible(trace.ending)}\n{_RULE}\n"


def _asked(questions: Iterable[tuple[str, str]]) -> dict[str, int] | None:
    """Return the ratings; None if the rater leaves."""
    ratings = {}
    for name, question in questions:
        level = _level(f"{question} [{'/'.join(_KEYS)}] ")
        if level is None:
            return None
        ratings[name] = level
    return ratings


def _level(prompt: str) -> int | None:
    while True:
        typed = _line(prompt)
        if typed is None or typed.strip().lower() in ("q", "quit"):
            return None
        level = _KEYS.get(typed.strip().lower()[:1])
        if level is not None:
            return level
        wanted = ", ".join(f"{key} for {SCALE[level]}" for key, level in _KEYS.items())
        sys.stdout.write(f"Type {wanted}, or q to leave.\n")


def _line(prompt: str) -> str | None:
    """Return a line of the rater's, or None at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return None
