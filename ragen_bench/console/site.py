"""The leaderboard's site: what is printed while it is built and served."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ragen_bench.console.plain import plain_console
from ragen_bench.console.progress import episodes_bar
from ragen_bench.leaderboard.files import printable_name
from ragen_bench.pages.leaderboard import build_site
from ragen_bench.pages.local_server import SiteServer


def build(leaderboard: Path, out: Path, *, verified: bool) -> bool:
    """Build the site, and return whether all entries were accepted.

    Args:
        leaderboard: its directory.
        out: where the site goes.
        verified: whether to verify the entries.

    Raises:
        UserError: if the leaderboard or `out` is not what it should be.
    """
    console = plain_console()

    def say(name: str, problems: list[str]) -> None:
        status = "FAIL" if problems else "ok"
        console.print(f"{status:<5} {printable_name(name)}", soft_wrap=True)

    with episodes_bar(console, "Verifying") as progress:
        built = build_site(leaderboard, out, verified, progress, say)
    for name, problems in built.refused.items():
        for problem in problems:
            console.print(f"{printable_name(name)}: {problem}", soft_wrap=True)
    if built.refused:
        names = ", ".join(map(printable_name, built.refused))
        console.print(f"No site was written. Refused: {names}", soft_wrap=True)
        return False
    console.print(f"Entries  {len(built.entries)}{'' if verified else ', not verified'}")
    console.print(f"Site     {out / 'index.html'}", soft_wrap=True)
    return True


def serve(leaderboard: Path, out: Path | None, port: int, *, verified: bool) -> bool:
    """Build the site and serve it until Ctrl-C; return whether all entries were accepted.

    Args:
        leaderboard: its directory.
        out: where the site goes, None for a directory that is deleted in the end.
        port: on the loopback address, 0 for a free one.
        verified: whether to verify the entries.

    Raises:
        UserError: if the leaderboard or `out` is not what it should be, or the port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="ragen-site-") as folder:
        site = out or Path(folder) / "site"
        # First the port: building takes longer than finding out that it is taken.
        with SiteServer(site, port) as server:
            if not build(leaderboard, site, verified=verified):
                return False
            plain_console().print(f"Serving  {server.url} (Ctrl-C ends it)", soft_wrap=True)
            server.serve_forever()
    return True
