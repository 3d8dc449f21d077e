"""The entries that one is compared with: those beside it, or those in the base of a branch.

They are not verified here. What cannot be read as an entry is left out: it is refused where it is
verified itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, MOST_BYTES, opened
from ragen_bench.leaderboard.git import Branch
from ragen_bench.leaderboard.public_lead import Scored, scored
from ragen_bench.leaderboard.schema import checked_entry
from ragen_bench.leaderboard.strict_json import BadJsonError, parse

ENTRIES = "entries"
"""The folder of a leaderboard that entries lie in."""


def entries_beside(entry: Path) -> Iterator[Scored]:
    """Yield the other entries of the leaderboard that an entry lies in, if it lies in one."""
    own = entry.absolute()
    if own.parent.name != ENTRIES:
        return
    for path in sorted(own.parent.iterdir()):
        if path.name == own.name:
            continue
        try:
            with opened(path) as files:
                data = files.entry.read(files.entry_bytes)
        except EntryError:
            continue
        yield from _scored(path.name, data)


def entries_in_base(branch: Branch, without: str) -> Iterator[Scored]:
    """Yield the entries that a branch is to be merged into, but for one."""
    folder = f"leaderboard/{ENTRIES}/"
    for line in branch.listed(branch.base, folder):
        about, path = line.split("\t", 1)
        _, kind, object_id, size = about.split()
        name, _, file = path.removeprefix(folder).partition("/")
        if file != ENTRY_JSON or kind != "blob" or name == without:
            continue
        if size.isdecimal() and int(size) <= MOST_BYTES[ENTRY_JSON]:
            yield from _scored(name, branch.content(object_id))


def _scored(name: str, data: bytes) -> Iterator[Scored]:
    try:
        yield scored(name, checked_entry(parse(data)))
    except (BadJsonError, EntryError):
        return
