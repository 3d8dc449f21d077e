"""`leaderboard check`: verifies the entry that a branch adds, as is done with a pull request."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragen_bench.cli.verify import run_verify
from ragen_bench.leaderboard import EntryError
from ragen_bench.leaderboard.git import Branch
from ragen_bench.leaderboard.pull_request import Proposal, checked_out, proposal

_MEANS = {
    "adds": "Adds the entry {}.",
    "changes": "Changes the entry {}, which is there already: see that its submitter wants it.",
    "withdraws": "Withdraws the entry {}: see that its submitter wants it.",
}


def run_check(base: str, head: str) -> int:
    """Verify what a branch of the repository here proposes, and return 1 if it is refused.

    Args:
        base: a commit of the leaderboard that the branch is to be merged into.
        head: the branch's last commit.

    Raises:
        UserError: if git cannot tell what the branch changes.
    """
    try:
        branch = Branch(Path(), base, head)
        proposed = proposal(branch)
        if proposed is None:
            sys.stdout.write("No entry is touched, and nothing was verified.\n")
            return 0
        sys.stdout.write(_MEANS[proposed.does].format(proposed.name) + "\n")
        return _verified(branch, proposed) if proposed.files else 0
    except EntryError as error:
        sys.stdout.write(f"NOT verified: {error}\n")
        return 1


def _verified(branch: Branch, proposed: Proposal) -> int:
    with tempfile.TemporaryDirectory(prefix="ragen-entry-") as folder:
        return run_verify(checked_out(branch, proposed, Path(folder)), None)
