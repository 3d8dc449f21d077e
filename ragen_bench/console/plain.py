"""A console that prints names and paths as they are, and nothing that a terminal obeys."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ragen_bench.visible import visible


class PlainConsole(Console):
    """A console that reads no markup, so that brackets and colons stay in names.

    Names, answers and words of servers are strangers': control characters in them are shown.

    Args:
        options: of rich's console.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is printed; controls of rich's own stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def plain_console(quiet: bool = False) -> PlainConsole:
    """Return a console for names and paths, on what is the standard output now.

    A thread that redirects the standard output later, to hold back what a library prints, does not
    take what other threads print on this console meanwhile.

    Args:
        quiet: whether nothing is shown.
    """
    return PlainConsole(quiet=quiet, file=sys.stdout)
