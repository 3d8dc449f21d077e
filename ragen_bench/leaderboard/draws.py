"""The draws of a leaderboard: `draws/COMMITMENT.json`, and the one of an entry among them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements import (
    DRAW_BYTES,
    check_announcement,
    check_file_name,
    read_announcement,
    read_draw,
    text_of,
    why_no_entry,
)
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.runs.draws import TIME, Draw, announcement_of, commitment_of, unannounced
from ragen_bench.runs.schema import Object, RunConfig

ANNOUNCEMENTS, DRAWS = "announcements", "draws"
"""The folders of a leaderboard."""
FindDraw = Callable[[str], Draw]
"""From a commitment to the draw that answered it; raises an EntryError if there is none."""


def draws_beside(entry: Path) -> FindDraw:
    """Return what finds draws in the leaderboard that an entry lies in."""
    return partial(_find, entry.absolute().parent.parent / DRAWS)


def draws_in(place: Path) -> FindDraw:
    """Return what finds draws in a folder, or the one of a file.

    Raises:
        UserError: if nothing is there.
    """
    if place.is_dir():
        return partial(_find, place)
    if not place.exists():
        raise UserError(f"{place} is not there; name the folder of the draws, or the file of one")
    return partial(_checked, place)


def check_draw(config: RunConfig, find: FindDraw) -> str:
    """See that a run is of the draw that answered its announcement, and of what that announced.

    Args:
        config: run.json; a run of another split has nothing to be seen.
        find: where the draws are.

    Returns:
        What was found, "" for another split.

    Raises:
        EntryError: if it is not.
    """
    if config.draw is None:
        return ""
    draw = find(config.draw.commitment)
    if draw.announcement is None:
        raise EntryError("the draw is of a rerun, and answers no announcement")
    if draw.value != config.draw.value:
        raise EntryError(
            f"draw.value: recorded {config.draw.value}, drawn was {draw.value}: the run has "
            "another draw than the project's"
        )
    if differing := unannounced(draw, config.as_json()):
        raise EntryError(
            *(f"announced otherwise (there: the announcement): {each}" for each in differing)
        )
    if commitment_of(announcement_of(config.as_json())) != draw.commitment:
        raise EntryError("the run would be announced in other words than those of its draw")
    return f"announced as {draw.commitment[:12]}, drawn {draw.time}"


def new_draw(announcement: Object | None, commitment: str) -> Draw:
    """Return a draw at this time: 32 bytes of the operating system's random source."""
    time = datetime.now(UTC).strftime(TIME)
    return Draw(announcement, commitment, secrets.token_hex(32), time)


class Answer(NamedTuple):
    """What became of an announcement.

    Attributes:
        name: of its file.
        file: of its draw, None if it is refused.
        draw: if one was made just now.
        problem: why it is refused, else "".
        note: why what was drawn for is no entry, else "". Whoever announces among themselves may
            choose environments; the check of pull requests lets no such announcement in.
    """

    name: str
    file: Path | None
    draw: Draw | None = None
    problem: str = ""
    note: str = ""


def draw_all(leaderboard: Path) -> Iterator[Answer]:
    """Draw for each announcement of a leaderboard that has no draw yet, and write the draws.

    A draw that is there is never replaced.

    Raises:
        UserError: if there is no folder of announcements.
    """
    folder = leaderboard / ANNOUNCEMENTS
    if not folder.is_dir():
        raise UserError(f"{leaderboard} holds no {ANNOUNCEMENTS}/; `ragen-bench announce` fills it")
    for file in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        try:
            yield _answer(file, leaderboard / DRAWS)
        except EntryError as error:
            yield Answer(file.name, None, problem="; ".join(error.args))


def rerun_draw(config: RunConfig, out: Path) -> Path | None:
    """Return the file with the draw of a rerun, which is made when it is first asked for.

    Args:
        config: run.json of the entry.
        out: the run directory of the rerun, beside which the file stands.

    Returns:
        The file, None for an entry of another split.

    Raises:
        UserError: if there is a file that is of another entry or another rerun, or holds no draw.
    """
    if config.draw is None:
        return None
    file = out.with_name(f"{out.name}.draw.json")
    if not file.exists():
        write_draw(new_draw(None, config.draw.commitment), file)
        return file
    try:
        draw = read_draw(_bytes(file))
    except EntryError as error:
        raise UserError(f"{file}: {error}; remove it, or choose another --out") from None
    if draw.commitment != config.draw.commitment or not out.exists():
        raise UserError(f"{file} is of another rerun; remove it, or choose another --out")
    return file


def write_draw(draw: Draw, file: Path) -> None:
    """Write a draw.

    Raises:
        UserError: if there is a file already, which is kept.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="ascii") as opened:
            opened.write(text_of(draw.as_json()))
    except FileExistsError:
        raise UserError(f"{file} is there already; a draw is made once") from None


def _answer(announced: Path, folder: Path) -> Answer:
    check_file_name(announced.name)
    announcement = read_announcement(_bytes(announced))
    commitment = commitment_of(announcement)
    file = folder / f"{commitment}.json"
    if file.exists():
        _find(folder, commitment)
        return Answer(announced.name, file)
    config = check_announcement(announcement)
    draw = new_draw(announcement, commitment)
    write_draw(draw, file)
    return Answer(announced.name, file, draw, note=why_no_entry(config))


def _find(folder: Path, commitment: str) -> Draw:
    file = folder / f"{commitment}.json"
    if folder.is_symlink():
        raise EntryError(f"{folder} is a link; draws lie in a folder of the leaderboard itself")
    if not file.is_file():
        raise EntryError(
            f"the draw {commitment}.json is not in {folder}; fetch the draws of the leaderboard, "
            "or name them with --draws"
        )
    return _checked(file, commitment)


def _checked(file: Path, commitment: str) -> Draw:
    draw = read_draw(_bytes(file))
    if draw.commitment != commitment:
        raise EntryError(f"{file} holds the draw of another commitment")
    return draw


def _bytes(file: Path) -> bytes:
    if file.is_symlink() or not file.is_file():
        raise EntryError(f"{file} is not a plain file")
    with file.open("rb") as opened:
        return opened.read(DRAW_BYTES + 1)
