"""The draws of a leaderboard, in `draws/COMMITMENT.json`: making them, and finding an entry's."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements.files import (
    DRAW_BYTES,
    check_announcement,
    check_file_name,
    explain_announced_refusal,
    read_announcement,
    read_draw,
    render_json,
)
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.runs.draws import (
    TIME,
    Draw,
    build_announcement,
    compute_commitment,
    find_unannounced,
)
from ragen_bench.runs.schema import RunConfig

ANNOUNCEMENTS, DRAWS = "announcements", "draws"
"""Folder names in a leaderboard."""
FindDraw = Callable[[str], Draw]
"""Returns the draw for a commitment; raises EntryError if it does not exist."""


def find_draws_near(entry: Path) -> FindDraw:
    """Return a lookup in the draws of the leaderboard that contains an entry."""
    return partial(_find_draw, entry.absolute().parent.parent / DRAWS)


def find_draws_in(place: Path) -> FindDraw:
    """Return a lookup in a folder of draws, or in a single draw file.

    Raises:
        UserError: if the path does not exist.
    """
    if place.is_dir():
        return partial(_find_draw, place)
    if not place.exists():
        raise UserError(f"{place} does not exist; name a folder of draws, or one draw file")
    return partial(_read_draw_of, place)


def check_draw(config: RunConfig, find: FindDraw) -> str:
    """Check that a run uses the draw made for its announcement, and the announced settings.

    Args:
        config: Content of run.json. Runs of other splits pass unchecked.
        find: Lookup of draws.

    Returns:
        The finding in one line, or "" for another split.

    Raises:
        EntryError: if the draw or the settings differ.
    """
    if config.draw is None:
        return ""
    draw = find(config.draw.commitment)
    if draw.announcement is None:
        raise EntryError("the draw was made for a rerun, and answers no announcement")
    if draw.value != config.draw.value:
        raise EntryError(
            f"draw.value: recorded {config.draw.value}, published {draw.value}: the run does not "
            "use the project's draw"
        )
    if differences := find_unannounced(draw, config.as_json()):
        raise EntryError(
            *(f"differs from the announcement (there): {each}" for each in differences)
        )
    if compute_commitment(build_announcement(config.as_json())) != draw.commitment:
        raise EntryError("the announcement differs from the one that the draw was made for")
    return f"announced as {draw.commitment[:12]}, drawn {draw.time}"


def make_draw(announcement: JsonObject | None, commitment: str) -> Draw:
    """Draw now: 32 bytes of the operating system's random source."""
    time = datetime.now(UTC).strftime(TIME)
    return Draw(announcement, commitment, secrets.token_hex(32), time)


class DrawResult(NamedTuple):
    """The outcome for one announcement.

    Attributes:
        name: Name of the announcement file.
        file: Draw file, None if the announcement is refused.
        draw: Draw made by this call, None if it existed before.
        problem: Reason for a refusal, or "".
        note: Reason why the run cannot be an entry, or "". A private leaderboard may draw for any
            environments; the check of pull requests refuses such announcements.
    """

    name: str
    file: Path | None
    draw: Draw | None = None
    problem: str = ""
    note: str = ""


def draw_all(leaderboard: Path) -> Iterator[DrawResult]:
    """Make and write the missing draws of a leaderboard. Existing draws are never replaced.

    Raises:
        UserError: if there is no folder of announcements.
    """
    folder = leaderboard / ANNOUNCEMENTS
    if not folder.is_dir():
        raise UserError(f"{leaderboard} has no {ANNOUNCEMENTS}/; `ragen-bench announce` creates it")
    for file in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        try:
            yield _draw_for(file, leaderboard / DRAWS)
        except EntryError as error:
            yield DrawResult(file.name, None, problem="; ".join(error.args))


def draw_for_rerun(config: RunConfig, out: Path) -> Path | None:
    """Return the draw file of a rerun, after making the draw if it is missing.

    Args:
        config: Content of the entry's run.json.
        out: Run directory of the rerun. The draw file is written next to it.

    Returns:
        The file, or None for an entry of another split.

    Raises:
        UserError: if the file exists and belongs to another entry or rerun, or is not a draw.
    """
    if config.draw is None:
        return None
    file = out.with_name(f"{out.name}.draw.json")
    if not file.exists():
        write_draw(make_draw(None, config.draw.commitment), file)
        return file
    try:
        draw = read_draw(_read_bytes(file))
    except EntryError as error:
        raise UserError(f"{file}: {error}; remove it, or choose another --out") from None
    if draw.commitment != config.draw.commitment or not out.exists():
        raise UserError(f"{file} belongs to another rerun; remove it, or choose another --out")
    return file


def write_draw(draw: Draw, file: Path) -> None:
    """Write a draw.

    Raises:
        UserError: if the file exists; it is not replaced.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="ascii") as stream:
            stream.write(render_json(draw.as_json()))
    except FileExistsError:
        raise UserError(f"{file} exists already; a draw is made only once") from None


def _draw_for(announced: Path, folder: Path) -> DrawResult:
    check_file_name(announced.name)
    announcement = read_announcement(_read_bytes(announced))
    commitment = compute_commitment(announcement)
    file = folder / f"{commitment}.json"
    if file.exists():
        _find_draw(folder, commitment)
        return DrawResult(announced.name, file)
    config = check_announcement(announcement)
    draw = make_draw(announcement, commitment)
    write_draw(draw, file)
    return DrawResult(announced.name, file, draw, note=explain_announced_refusal(config))


def _find_draw(folder: Path, commitment: str) -> Draw:
    file = folder / f"{commitment}.json"
    if folder.is_symlink():
        raise EntryError(f"{folder} is a link; use a folder in the leaderboard itself")
    if not file.is_file():
        raise EntryError(
            f"the draw {commitment}.json is not in {folder}; fetch the draws of the leaderboard, "
            "or name them with --draws"
        )
    return _read_draw_of(file, commitment)


def _read_draw_of(file: Path, commitment: str) -> Draw:
    draw = read_draw(_read_bytes(file))
    if draw.commitment != commitment:
        raise EntryError(f"{file} contains the draw for another commitment")
    return draw


def _read_bytes(file: Path) -> bytes:
    if file.is_symlink() or not file.is_file():
        raise EntryError(f"{file} is not a plain file")
    with file.open("rb") as stream:
        return stream.read(DRAW_BYTES + 1)
