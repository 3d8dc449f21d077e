"""The looks that the tables of figures share."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text


def figures_table(
    title: str | Text,
    caption: str,
    columns: Iterable[str],
    padding: PaddingDimensions = (0, 1, 0, 0),
) -> Table:
    """Return a table, without rows yet, of the figures of environments.

    Args:
        title: above it.
        caption: below it.
        columns: the names of all but the first one, which is of the environment.
        padding: of the cells, see rich.
    """
    table = Table(
        title=title, caption=caption, caption_justify="left", box=SIMPLE_HEAD, padding=padding
    )
    table.add_column("environment", overflow="fold")  # a long name gives way, no figure does
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table
