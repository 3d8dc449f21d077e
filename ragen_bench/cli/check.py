"""`leaderboard check`: verifies the entry that a branch adds, as is done with a pull request."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragen_bench.cli.verify import run_verify
from ragen_bench.leaderboard import EntryError
from ragen_bench.leaderboard.pull_request import checked_out, proposal


def run_check(base: str, head: str) -> int:
    """Verify what a branch of the repository here proposes, and return 1 if it is refused.

    Args:
        base: a commit of the leaderboard that the branch is to be merged into.
        head: the branch's last commit.

    Raises:
        UserError: if git cannot tell what the branch changes.
    """
    here = Path()
    try:
        proposed = proposal(here, base, head)
        if proposed is None:
            sys.stdout.write("No entry is touched.\n")
            return 0
        if not proposed.files:
            sys.stdout.write(f"Withdrawn: {proposed.name}\n")
            return 0
        with tempfile.TemporaryDirectory(prefix="ragen-entry-") as folder:
            return run_verify(checked_out(here, proposed, Path(folder)), None)
    except EntryError as error:
        sys.stdout.write(f"NOT verified: {error}\n")
        return 1
