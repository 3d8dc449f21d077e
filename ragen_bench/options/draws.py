"""The draw that an evaluation names."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements import DRAW_BYTES, read_draw
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.runs.draws import Draw
from ragen_envs.core.instances import Split


def draw_of(file: Path | None, split: Split) -> Draw | None:
    """Return the draw of an evaluation on a split, None where no file is named.

    Raises:
        UserError: if the split is another one, or the file holds no draw.
    """
    if file is None:
        return None
    if split != "drawn":
        raise UserError(f"--draw goes with --split drawn, not with --split {split}")
    return read_draw_file(file)


def read_draw_file(file: Path) -> Draw:
    """Return the draw that a file holds.

    Raises:
        UserError: if it holds none.
    """
    try:
        with file.open("rb") as opened:
            return read_draw(opened.read(DRAW_BYTES + 1))
    except OSError as error:
        raise UserError(f"the draw {file} cannot be read: {error.strerror}") from None
    except EntryError as error:
        raise UserError(f"{file} holds no draw: {error}") from None
