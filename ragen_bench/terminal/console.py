"""A console that prints names and paths literally and shows control characters; number formats."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ragen_bench.visible import visible


class PlainConsole(Console):
    """A console that reads no markup, so that brackets and colons in names are printed.

    Names, responses and texts of servers are untrusted: their control characters are shown. Without
    a file it prints on standard output; a terminal or notebook is detected unless it is forced.
    """

    def __init__(
        self,
        file: TextIO | None = None,
        quiet: bool = False,
        force_terminal: bool | None = None,
        force_jupyter: bool | None = None,
    ) -> None:
        super().__init__(
            file=file,
            quiet=quiet,
            force_terminal=force_terminal,
            force_jupyter=force_jupyter,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the printed segments; rich's own control segments stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def plain_console(quiet: bool = False) -> PlainConsole:
    """Return a console on the present standard output.

    A thread that redirects standard output later, to hold back what a library prints, does not take
    what other threads print on this console.
    """
    return PlainConsole(file=sys.stdout, quiet=quiet)


def percent(value: float) -> str:
    """Return a rate in per cent with one digit."""
    return f"{100 * value:.1f}"


def interval(bounds: Sequence[float]) -> str:
    """Return an interval of rates in per cent."""
    return f"{percent(bounds[0])} - {percent(bounds[1])}"


def fixed(value: float, digits: int, sign: str = "") -> str:
    """Return a number with a fixed number of digits; zero has no minus. `sign` is "" or "+"."""
    # Adding 0 turns -0.0, which would be printed with its sign, into 0.0.
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"
