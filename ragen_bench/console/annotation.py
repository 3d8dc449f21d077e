"""Blind ratings in the terminal, and a table of how far raters agree."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

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
from ragen_bench.runs.schema import Key
from ragen_bench.visible import visible

_RULE = "-" * 72
_KEYS = {name[0]: level for level, name in enumerate(SCALE)}


def agreement(runs: Iterable[Path]) -> str:
    """Return a table of the ratings of all raters and of Krippendorff's alpha.

    Args:
        runs: run directories.

    Raises:
        UserError: if one is named twice, or a line of its ratings is not a rating.
    """
    units: dict[tuple[Path, Key], list[Rating]] = {}
    for run in distinct(runs):
        for rating in ratings_of(run):
            units.setdefault((run, rating.key), []).append(rating)
    ratings = [rating for unit in units.values() for rating in unit]
    if not ratings:
        return "No ratings yet.\n"
    raters = {rating.rater for rating in ratings}
    shared = sum(len(unit) > 1 for unit in units.values())
    lines = [
        f"{len(ratings)} ratings by {len(raters)} raters; {shared} of {len(units)} episodes were "
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


def rate(session: Session) -> None:
    """Show one episode after the other and ask for its ratings, until the rater leaves."""
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
        ratings = _ask_ratings(QUESTIONS.items())
        if ratings is None:
            sys.stdout.write(f"\n{number - 1} of {len(session.chosen)} rated.\n")
            return
        comment = _read_line("Comment (or Enter): ")
        session.rate(run, key, ratings, comment or "")
    sys.stdout.write("\nAll are rated. Thank you.\n")


def _text(trace: Trace) -> str:
    turns = "".join(
        f"\n--- Turn {number}\n{visible(observation)}\n\n>>> {visible(answer)}\n"
        for number, (observation, answer) in enumerate(trace.turns, start=1)
    )
    return f"{turns}\n--- End\n{visible(trace.ending)}\n{_RULE}\n"


def _ask_ratings(questions: Iterable[tuple[str, str]]) -> dict[str, int] | None:
    """Return the ratings; None if the rater leaves."""
    ratings = {}
    for name, question in questions:
        level = _ask_level(f"{question} [{'/'.join(_KEYS)}] ")
        if level is None:
            return None
        ratings[name] = level
    return ratings


def _ask_level(prompt: str) -> int | None:
    while True:
        typed = _read_line(prompt)
        if typed is None or typed.strip().lower() in ("q", "quit"):
            return None
        level = _KEYS.get(typed.strip().lower()[:1])
        if level is not None:
            return level
        wanted = ", ".join(f"{key} for {SCALE[level]}" for key, level in _KEYS.items())
        sys.stdout.write(f"Type {wanted}, or q to leave.\n")


def _read_line(prompt: str) -> str | None:
    """Return a line that the rater typed, or None at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return None
