"""Tables of metrics by environment, in which no environment's name is cut."""

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
class MetricsTable:
    """A table that fits the width of its console, with metrics by environment.

    A name that has no room next to its values gets a line of its own. Where the values alone are
    too wide, each stands with its column's name below the environment. `columns` are all but the
    first, which holds the environment. The last values of a row may be missing, and a name that
    begins with a space belongs to a part of the row above.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: list[_Row] = field(default_factory=list)

    def add_row(self, name: str, *values: str) -> None:
        """Add a row."""
        self.rows.append((name, values))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the rows and the caption."""
        width, fit = options.max_width, self._fit(options.max_width)
        heading = list(self._layout_in_columns((_FIRST, self.columns), *fit)) if fit else []
        inner = cell_len(heading[0]) + 1 if heading else width
        yield Constrain(Text(self.title, justify="center", style="table.title"), inner)
        yield ""
        for line in heading:
            yield Text(f"{line}\n {'─' * (inner - 2)}", style="bold")
        has_parts = any(map(_is_part, self.rows))
        for row in self.rows:
            style = "bold" if has_parts and not _is_part(row) else ""
            lines = self._layout_in_columns(row, *fit) if fit else self._layout_stacked(row, width)
            yield from (Text(line.rstrip(), style=style, overflow="fold") for line in lines)
        yield ""
        yield Constrain(Text(self.caption, style="table.caption"), inner)

    def _fit(self, width: int) -> tuple[int, int] | None:
        """Return the room for names and the gap between columns; None if the values do not fit."""
        least = max(len(_FIRST), *(cell_len(row[0]) for row in self.rows if _is_part(row)), 0)
        longest = max(least, *(cell_len(name) for name, _ in self.rows), 0)
        widths = self._column_widths()
        for wanted, gap in ((longest, 2), (longest, 1), (least, 1)):
            room = width - 2 - sum(widths) - gap * len(widths)
            if room >= wanted:
                return min(room, longest), gap
        return None

    def _column_widths(self) -> list[int]:
        rows = [self.columns, *(values for _, values in self.rows)]
        return [
            max(cell_len(values[i]) for values in rows if i < len(values))
            for i in range(len(self.columns))
        ]

    def _layout_in_columns(self, row: _Row, room: int, gap: int) -> Iterator[str]:
        name, values = row
        if cell_len(name) > room:
            yield f" {name}"
            name = ""
        cells = zip(values, self._column_widths(), strict=False)
        padded = (" " * (gap + width - cell_len(value)) + value for value, width in cells)
        yield f" {set_cell_size(name, room)}{''.join(padded)}"

    def _layout_stacked(self, row: _Row, width: int) -> Iterator[str]:
        """Yield a row's name, and below it its values with the names of their columns."""
        name, values = row
        pairs = zip(self.columns, values, strict=False)
        labelled = [f"{column} {value}" for column, value in pairs if value]
        if _is_part(row):
            labelled.insert(0, name.strip())
        else:
            yield f" {name}"
        text = "  ".join(words.replace(" ", _HARD_SPACE) for words in labelled)
        lines = textwrap.wrap(text, max(width - 4, 1), break_on_hyphens=False)
        yield from (f"   {line.replace(_HARD_SPACE, ' ')}" for line in lines)


def _is_part(row: _Row) -> bool:
    return row[0].startswith(" ")
