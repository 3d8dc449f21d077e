"""`verify`: what was checked of an entry, one line each."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ragen_bench.errors import missing_extra
from ragen_bench.leaderboard import Check, verify
from ragen_bench.leaderboard.files import shown_name

try:
    from rich.console import Console

    from ragen_bench.console.plain import plain_console
    from ragen_bench.console.progress import episodes_bar
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


def print_check(console: Console, check: Check) -> None:
    """Print one line about one check."""
    status = "ok" if check.passed else "FAIL"
    console.print(f"{status:<5} {check.name:<10} {check.said}", soft_wrap=True)


def run_verify(path: Path, out: Path | None) -> int:
    """Verify an entry, print what was found, and return 1 if it is refused.

    Args:
        path: the entry's directory.
        out: a file for what was found, as JSON.

    Raises:
        UserError: if there is nothing at the path.
    """
    console = plain_console()
    start = time.perf_counter()
    with episodes_bar(console, "Replaying") as progress:
        verdict = verify(path, progress)
    for check in verdict.checks:
        print_check(console, check)
    if out:
        out.write_text(
            json.dumps(verdict.as_json(), indent=2) + "\n", encoding="utf-8", newline="\n"
        )
        console.print(f"JSON  {out}", soft_wrap=True)
    if not verdict.verified:
        console.print(f"NOT verified: {shown_name(verdict.directory)}", soft_wrap=True)
        return 1
    console.print(
        f"Verified: {verdict.directory}, {verdict.episodes:,} episodes in "
        f"{time.perf_counter() - start:.1f} s",
        soft_wrap=True,
    )
    return 0
