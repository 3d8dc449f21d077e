"""Takes the one announcement that a branch adds out of git, and draws out of its base."""

from __future__ import annotations

from ragen_bench.leaderboard.announcements import (
    ANNOUNCEMENT_BYTES,
    DRAW_BYTES,
    check_announced_entry,
    check_file_name,
    read_announcement,
    read_draw,
)
from ragen_bench.leaderboard.draws import ANNOUNCEMENTS, DRAWS
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.git import Branch
from ragen_bench.runs.draws import Draw, commitment_of

_ANNOUNCEMENTS = f"leaderboard/{ANNOUNCEMENTS}/"
_DRAWS = f"leaderboard/{DRAWS}/"
_PLAIN_FILE = "100644"


def proposed_announcement(branch: Branch) -> tuple[str, str] | None:
    """Return the name and the commitment of the announcement that a branch adds, None for none.

    Raises:
        UserError: if git cannot tell.
        EntryError: if it is refused, or the branch changes anything else.
    """
    paths = branch.changed()
    if not any(path.startswith(_ANNOUNCEMENTS) for path in paths):
        return None
    if len(paths) > 1:
        raise EntryError(
            f"an announcement and {len(paths) - 1} other files change; send one announcement and "
            "nothing else"
        )
    path = paths[0]
    name = path.removeprefix(_ANNOUNCEMENTS)
    check_file_name(name)
    if branch.listed(branch.base, path):
        raise EntryError(
            f"{path} is there already, and stays as it was announced; add another one beside it"
        )
    announcement = read_announcement(_content(branch, branch.head, path, ANNOUNCEMENT_BYTES))
    commitment = commitment_of(announcement)
    if branch.listed(branch.base, f"{_DRAWS}{commitment}.json"):
        raise EntryError(
            f"the same was announced before, and is answered by {_DRAWS}{commitment}.json; "
            "evaluate with that"
        )
    check_announced_entry(announcement)
    return name, commitment


def drawn_in_base(branch: Branch, commitment: str) -> Draw:
    """Return the draw that answers a commitment in the base of a branch.

    Raises:
        EntryError: if there is none.
    """
    path = f"{_DRAWS}{commitment}.json"
    if not branch.listed(branch.base, path):
        raise EntryError(
            f"the base has no {path}; announce first, and evaluate with the draw that answers"
        )
    draw = read_draw(_content(branch, branch.base, path, DRAW_BYTES))
    if draw.commitment != commitment:
        raise EntryError(f"{path} holds the draw of another commitment")
    return draw


def _content(branch: Branch, commit: str, path: str, most: int) -> bytes:
    """Return the bytes of a plain file of bearable size."""
    lines = branch.listed(commit, path)
    if len(lines) != 1:
        raise EntryError(f"{path} is not one file")
    mode, kind, object_id, size = lines[0].split("\t", 1)[0].split()
    if (mode, kind) != (_PLAIN_FILE, "blob"):
        raise EntryError(f"{path} is not a plain file: git's mode is {mode}")
    if not size.isdecimal():  # git says "BAD" of an object that it lacks
        raise EntryError(f"{path} is not in the repository; fetch the branch anew")
    if int(size) > most:
        raise EntryError(f"{path} has {int(size):,} bytes; at most {most:,} are read")
    return branch.content(object_id)
