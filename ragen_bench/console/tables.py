"""Tables of the figures of environments, whose names are never cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.constrain import Constrain
from rich.text import Text

_FIRST = "environment"
_HARD_SPACE = "\N{NO-BREAK SPACE}"
_Row: TypeAlias = tuple[str, Sequence[str]]


@dataclass(frozen=True)
class FiguresTable:
    """A table that fits the console it is printed on.

    A name that finds no room beside its figures gets a line of its own. Where the figures alone are
    too wide, each stands with its column's name below the environment.

    Attributes:
        title: above it.
        caption: below it.
        columns: the names of all but the first one, which is of the environment.
        rows: names and figures, of which the last may be missing. A name that begins with a space
            is of a part of the row above.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: list[_Row] = field(default_factory=list)

    def add_row(self, name: str, *figures: str) -> None:
        """Add a row."""
        self.rows.append((name, figures))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the rows and the caption."""
        width, fit = options.max_width, self._fit(options.max_width)
        heading = list(self._beside((_FIRST, self.columns), *fit)) if fit else []
        inner = cell_len(heading[0]) + 1 if heading else width
        yield Constrain(Text(self.title, justify="center", style="table.title"), inner)
        yield ""
        for line in heading:
            yield Text(f"{line}\n {'─' * (inner - 2)}", style="bold")
        parts = any(map(_is_part, self.rows))
        for row in self.rows:
            style = "bold" if parts and not _is_part(row) else ""
            lines = self._beside(row, *fit) if fit else self._stacked(row, width)
            yield from (Text(line.rstrip(), style=style, overflow="fold") for line in lines)
        yield ""
        yield Constrain(Text(self.caption, style="table.caption"), inner)

    def _fit(self, width: int) -> tuple[int, int] | None:
        """Return the room for names and the gap between columns; None if the figures do not fit."""
        least = max(len(_FIRST), *(cell_len(row[0]) for row in self.rows if _is_part(row)), 0)
        longest = max(least, *(cell_len(name) for name, _ in self.rows), 0)
        widths = self._widths()
        for wanted, gap in ((longest, 2), (longest, 1), (least, 1)):
            room = width - 2 - sum(widths) - gap * len(widths)
            if room >= wanted:
                return min(room, longest), gap
        return None

    def _widths(self) -> list[int]:
        shown = [self.columns, *(figures for _, figures in self.rows)]
        return [
            max(cell_len(figures[i]) for figures in shown if i < len(figures))
            for i in range(len(self.columns))
        ]

    def _beside(self, row: _Row, room: int, gap: int) -> Iterator[str]:
        """Yield a row's figures beside its name, or below one for which there is no room."""
        name, figures = row
        if cell_len(name) > room:
            yield f" {name}"
            name = ""
        cells = zip(figures, self._widths(), strict=False)
        shown = (" " * (gap + width - cell_len(figure)) + figure for figure, width in cells)
        yield f" {set_cell_size(name, room)}{''.join(shown)}"

    def _stacked(self, row: _Row, width: int) -> Iterator[str]:
        """Yield a row's name, and its figures with the names of their columns."""
        name, figures = row
        pairs = zip(self.columns, figures, strict=False)
        named = [f"{column} {figure}" for column, figure in pairs if figure]
        if _is_part(row):
            named.insert(0, name.strip())
        else:
            yield f" {name}"
        text = "  ".join(words.replace(" ", _HARD_SPACE) for words in named)
        lines = textwrap.wrap(text, max(width - 4, 1), break_on_hyphens=False)
        yield from (f"   {line.replace(_HARD_SPACE, ' ')}" for line in lines)


def _is_part(row: _Row) -> bool:
    return row[0].startswith(" ")
