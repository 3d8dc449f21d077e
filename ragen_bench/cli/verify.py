"""`verify`: recomputes a leaderboard entry from its responses."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import DrawsOptions, JsonOptions
from ragen_bench.command_line import Argument, Command

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject
    from ragen_bench.leaderboard.announcements.draws import FindDraw
    from ragen_bench.leaderboard.public_lead import EntryScores


@dataclass(frozen=True, kw_only=True)
class Verify(JsonOptions, DrawsOptions, Command):
    """Recomputes a leaderboard entry from its responses.

    Replays every response and recomputes every metric; nothing in the entry that can be computed is
    trusted. Ends with exit code 1 if anything differs.
    """

    entry: Annotated[Path, Argument("ENTRY")]

    def run(self) -> int:
        """Print one line for each check; return 1 if the entry is refused."""
        draws = self.find_draw()
        with self.output() as content:
            return 0 if verify_entry(self.entry, content, draws) else 1


def verify_entry(
    path: Path,
    content: JsonObject,
    draws: FindDraw | None = None,
    others: Iterable[EntryScores] | None = None,
) -> bool:
    """Verify an entry, print the checks, and return whether it is verified.

    Args:
        path: Directory of the entry.
        content: Dictionary to put the findings into.
        draws: Finds the draws; None for those of the entry's leaderboard.
        others: Entries to compare with; None for those of the entry's leaderboard.

    Raises:
        UserError: If the path does not exist.
    """
    from ragen_bench.leaderboard import verify
    from ragen_bench.leaderboard.files import printable_name
    from ragen_bench.terminal.console import plain_console
    from ragen_bench.terminal.progress import episodes_bar

    console = plain_console()
    start = time.perf_counter()
    with episodes_bar(console, "Replaying") as progress:
        verdict = verify(path, progress, draws, others)
    for check in verdict.checks:
        status = "ok" if check.passed else "FAIL"
        console.print(f"{status:<5} {check.name:<10} {check.message}", soft_wrap=True)
    for sign in verdict.signs if verdict.verified else ():
        console.print(f"{'sign':<5} {sign.name:<10} {sign.message}", soft_wrap=True)
    content.update(verdict.as_json())
    if not verdict.verified:
        console.print(f"NOT verified: {printable_name(verdict.directory)}", soft_wrap=True)
        return False
    console.print(
        f"Verified: {verdict.directory}, {verdict.episodes:,} episodes in "
        f"{time.perf_counter() - start:.1f} s",
        soft_wrap=True,
    )
    return True
