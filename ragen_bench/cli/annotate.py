"""`annotate`: blind ratings of episodes, and the agreement of the raters."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import visible

if TYPE_CHECKING:
    from ragen_bench.pages.annotation.session import Rating, Session
    from ragen_bench.runs.schema import Key

_RULE = "-" * 72


@dataclass(frozen=True, kw_only=True)
class Annotate(Command):
    """Lets people rate episodes blind, or prints how far raters agree.

    Shows episodes without the name of the model, and keeps the ratings in each run's
    ratings.jsonl. Several runs are shuffled together.
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    rater: Annotated[str | None, Option("NAME", "name of the rater")] = None
    count: Annotated[int, Option("N", "number of episodes")] = 30
    seed: Annotated[int, Option("N", "seed of the choice of episodes")] = 0
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    agreement: Annotated[bool, Option(None, "print the ratings and how far raters agree")] = False

    def run(self) -> int:
        """Let a rater rate, or print the agreement."""
        from ragen_bench.pages.annotation.session import Session
        from ragen_bench.runs.directory import read_run

        for directory in self.runs:
            read_run(directory)
        if self.agreement:
            sys.stdout.write(agreement_table(self.runs))
            return 0
        if self.rater is None:
            raise UserError("--rater NAME is missing; give it, or ask for --agreement")
        session = Session(self.runs, self.rater, self.count, self.seed)
        if self.browser:
            from ragen_bench.pages.annotation.server import AnnotationServer

            AnnotationServer(session).serve("Rate")
        else:
            rate_in_terminal(session)
        return 0


def agreement_table(runs: Iterable[Path]) -> str:
    """Return a table of the ratings of all raters and of Krippendorff's alpha."""
    from ragen_bench.pages.annotation.session import (
        QUESTIONS,
        SCALE,
        krippendorff_alpha,
        read_ratings,
        resolve_distinct,
    )

    units: dict[tuple[Path, Key], list[Rating]] = {}
    for run in resolve_distinct(runs):
        for rating in read_ratings(run):
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
        cell = "-" if alpha is None else f"{alpha:.2f}"
        lines.append(f"{question:<16}{counts[0]:>6}{counts[1]:>8}{counts[2]:>6}{cell:>8}")
    lines.append("alpha: Krippendorff's, ordinal; 1 is full agreement, 0 is chance.")
    return "\n".join(lines) + "\n"


def rate_in_terminal(session: Session) -> None:
    """Show one episode after the other and ask for its ratings, until the rater leaves."""
    from ragen_bench.pages.annotation.session import SCALE

    waiting = session.waiting()
    done = len(session.chosen) - len(waiting)
    sys.stdout.write(
        f"{len(waiting)} episodes to rate, {done} rated. The model's name is hidden. Keys for "
        f"each question: {', '.join(f'{name[0]} {name}' for name in SCALE)}; q leaves and keeps "
        "the ratings.\n"
    )
    for number, (run, key) in enumerate(waiting, start=done + 1):
        sys.stdout.write(f"\n{_RULE}\nEpisode {number} of {len(session.chosen)}\n")
        trace = session.trace(run, key)
        for turn, (observation, response) in enumerate(trace.turns, start=1):
            sys.stdout.write(
                f"\n--- Turn {turn}\n{visible(observation)}\n\n>>> {visible(response)}\n"
            )
        sys.stdout.write(f"\n--- End\n{visible(trace.ending)}\n{_RULE}\n")
        ratings = _ask_ratings()
        if ratings is None:
            sys.stdout.write(f"\n{number - 1} of {len(session.chosen)} rated.\n")
            return
        comment = _read_line("Comment (or Enter): ")
        session.rate(run, key, ratings, comment or "")
    sys.stdout.write("\nAll are rated. Thank you.\n")


def _ask_ratings() -> dict[str, int] | None:
    """Return the ratings; None if the rater leaves."""
    from ragen_bench.pages.annotation.session import QUESTIONS, SCALE

    levels = {name[0]: level for level, name in enumerate(SCALE)}
    choices = ", ".join(f"{name[0]} for {name}" for name in SCALE)
    ratings: dict[str, int] = {}
    for name, question in QUESTIONS.items():
        while name not in ratings:
            line = _read_line(f"{question} [{'/'.join(levels)}] ")
            word = "q" if line is None else line.strip().lower()
            if word in ("q", "quit"):
                return None
            if word[:1] in levels:
                ratings[name] = levels[word[:1]]
            else:
                sys.stdout.write(f"Type {choices}, or q to leave.\n")
    return ratings


def _read_line(prompt: str) -> str | None:
    """Return a line that the rater typed, or None at the end of the input."""
    try:
        return input(prompt)
    except EOFError:
        return None
