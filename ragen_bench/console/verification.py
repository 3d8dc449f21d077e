"""The checks of an entry of the leaderboard, one line each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ragen_bench.console.plain import plain_console
from ragen_bench.console.progress import episodes_bar
from ragen_bench.leaderboard import EntryError, verify
from ragen_bench.leaderboard.announcements.draws import FindDraw
from ragen_bench.leaderboard.files import printable_name
from ragen_bench.leaderboard.git import Branch
from ragen_bench.leaderboard.public_lead import EntryScores, read_base_scores
from ragen_bench.leaderboard.pull_request import (
    Proposal,
    read_base_draw,
    read_proposal,
    read_proposed_announcement,
    write_proposal,
)
from ragen_bench.runs.schema import Object

_CHANGES = {
    "adds": "Adds the entry {}.",
    "changes": "Changes the entry {}, which is there already: see that its submitter wants it.",
    "withdraws": "Withdraws the entry {}: see that its submitter wants it.",
}


def verify_entry(
    path: Path,
    content: Object,
    draws: FindDraw | None = None,
    others: Iterable[EntryScores] | None = None,
) -> bool:
    """Verify an entry, print the checks, and return whether it is verified.

    Args:
        path: the entry's directory.
        content: the dictionary that the findings are put into.
        draws: where the draws are; None for those of the leaderboard that the entry lies in.
        others: entries that it is compared with; None for those of that leaderboard.

    Raises:
        UserError: if there is nothing at the path.
    """
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


def verify_branch(base: str, head: str, content: Object) -> bool:
    """Verify what a branch of the repository here proposes, and return whether it may be merged.

    Args:
        base: a commit of the leaderboard that the branch is to be merged into.
        head: the branch's last commit.
        content: the dictionary that the findings are put into.

    Raises:
        UserError: if git cannot tell what the branch changes.
    """
    console = plain_console()
    try:
        branch = Branch(Path(), base, head)
        proposed = read_proposal(branch)
        if proposed is None and (announced := read_proposed_announcement(branch)):
            name, commitment = announced
            content.update(does="announces", announcement=name, commitment=commitment)
            console.print(f"Announces {name}, commitment {commitment}.", soft_wrap=True)
            return True
        if proposed is None:
            console.print("No entry is touched, and nothing was verified.")
            return True
        content.update(does=proposed.does, entry=proposed.name)
        console.print(_CHANGES[proposed.does].format(proposed.name), soft_wrap=True)
        return not proposed.files or _verify_proposal(branch, proposed, content)
    except EntryError as error:
        content["problem"] = "; ".join(error.args)
        console.print(f"NOT verified: {content['problem']}", soft_wrap=True)
        return False


def _verify_proposal(branch: Branch, proposed: Proposal, content: Object) -> bool:
    with tempfile.TemporaryDirectory(prefix="ragen-entry-") as folder:
        entry = write_proposal(branch, proposed, Path(folder))
        draws = partial(read_base_draw, branch)
        return verify_entry(entry, content, draws, read_base_scores(branch, proposed.name))
