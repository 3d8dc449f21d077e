"""`leaderboard`: builds and serves the site, checks a branch, draws for announcements."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.entries import verify_entry
from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Argument, Command, Group, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import visible

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject

_CHANGES = {
    "adds": "Adds the entry {}.",
    "changes": "Changes the entry {}, which is there already: see that its submitter wants it.",
    "withdraws": "Withdraws the entry {}: see that its submitter wants it.",
}


@dataclass(frozen=True)
class Check(JsonOptions, Command):
    """Verifies the entry that a branch adds or changes, as for a pull request.

    The entry, or the announcement, is read from git: no code of the branch runs. Ends with exit
    code 1 if it is refused, or if the branch changes anything else.
    """

    base: Annotated[str, Argument("BASE", "a commit of the branch to merge into")]
    head: Annotated[str, Argument("HEAD", "last commit of the checked branch")] = "HEAD"

    def run(self) -> int:
        """Verify the entry; return 1 if it is refused."""
        with self.output() as content:
            content["verified"] = _verify_branch(self.base, self.head, content)
        return 0 if content["verified"] else 1


@dataclass(frozen=True, kw_only=True)
class Draw(Command):
    """Answers each announcement that has no draw yet, with a random value of this moment.

    For maintainers of a leaderboard: a draw is as trustworthy as they are. Existing draws are never
    replaced. A run that cannot be an entry, such as one of chosen environments, gets a draw and a
    note. Ends with exit code 1 if an announcement is refused.
    """

    leaderboard: Annotated[Path, Argument("LEADERBOARD", "a directory with announcements/")] = Path(
        "leaderboard"
    )

    def run(self) -> int:
        """Write the draws, and print one line for each announcement."""
        from rich.text import Text

        from ragen_bench.leaderboard.announcements import draw_all
        from ragen_bench.terminal.console import plain_console

        console = plain_console()
        refused = 0
        for answer in draw_all(self.leaderboard):
            name = visible(answer.name)
            if answer.problem:
                refused += 1
                console.print(Text(f"REFUSED  {name}: {visible(answer.problem)}"), soft_wrap=True)
            else:
                status = "drawn" if answer.draw else "kept"
                console.print(Text(f"{status:<7}  {name}: {answer.file}"), soft_wrap=True)
            if answer.note:
                note = f"not an entry of the leaderboard: {visible(answer.note)}"
                console.print(Text(f"note     {name}: {note}"), soft_wrap=True)
        return 1 if refused else 0


@dataclass(frozen=True, kw_only=True)
class _SiteOptions:
    leaderboard: Annotated[Path, Argument("LEADERBOARD", "a directory with entries/")] = Path(
        "leaderboard"
    )
    unverified: Annotated[
        bool, Option(None, "replay nothing: entries are marked, and have no episodes")
    ] = False
    anew: Annotated[
        bool, Option(None, "replay every entry, also those that you verified before")
    ] = False

    def build(self, out: Path) -> bool:
        """Build the site, and return whether all entries were accepted."""
        from ragen_bench.cache import ignoring_cache

        if self.anew and self.unverified:
            raise UserError("--anew replays every entry, --unverified none; remove one of them")
        with ignoring_cache() if self.anew else nullcontext():
            return _build_site(self.leaderboard, out, verified=not self.unverified)


@dataclass(frozen=True, kw_only=True)
class Build(_SiteOptions, Command):
    """Writes the site, which opens from disk.

    Entries that you verified before are not replayed again, as long as they and ragen are the same.
    Ends with exit code 1, and without a site, if an entry is refused.
    """

    out: Annotated[Path, Option("DIR", "the site; an older one there is replaced")] = Path("site")

    def run(self) -> int:
        """Build the site; return 1 if an entry is refused."""
        return 0 if self.build(self.out) else 1


@dataclass(frozen=True, kw_only=True)
class Serve(_SiteOptions, Command):
    """Builds the site and serves it to this machine only, until Ctrl-C."""

    out: Annotated[Path | None, Option("DIR", "keep the site in this directory")] = None
    port: Annotated[int, Option("N", "port of the site; 0 is a free one")] = 8000

    def run(self) -> int:
        """Serve the site; return 1 if an entry is refused."""
        from ragen_bench.pages.local_server import SiteServer
        from ragen_bench.terminal.console import plain_console

        with tempfile.TemporaryDirectory(prefix="ragen-site-") as folder:
            site = self.out or Path(folder) / "site"
            # The port first: a port in use is found at once, building takes long.
            with SiteServer(site, self.port) as server:
                if not self.build(site):
                    return 1
                plain_console().print(f"Serving  {server.url} (Ctrl-C ends it)", soft_wrap=True)
                server.serve_forever()
        return 0


LEADERBOARD = Group(
    "Builds the leaderboard's site, serves it here, checks a branch, or draws for announcements.",
    {"check": Check, "draw": Draw, "build": Build, "serve": Serve},
)


def _build_site(leaderboard: Path, out: Path, *, verified: bool) -> bool:
    from ragen_bench.leaderboard.files import printable_name
    from ragen_bench.pages.leaderboard import build_site
    from ragen_bench.terminal.console import plain_console
    from ragen_bench.terminal.progress import episodes_bar

    console = plain_console()

    def report(name: str, problems: list[str]) -> None:
        status = "FAIL" if problems else "ok"
        console.print(f"{status:<5} {printable_name(name)}", soft_wrap=True)

    with episodes_bar(console, "Verifying") as progress:
        built = build_site(leaderboard, out, verified, progress, report)
    for name, problems in built.refused.items():
        for problem in problems:
            console.print(f"{printable_name(name)}: {problem}", soft_wrap=True)
    if built.refused:
        names = ", ".join(map(printable_name, built.refused))
        console.print(f"No site was written. Refused: {names}", soft_wrap=True)
        return False
    recalled = sum(entry.recalled for entry in built.entries)
    note = f", {recalled} of them verified before; --anew replays them" if recalled else ""
    console.print(f"Entries  {len(built.entries)}{note if verified else ', not verified'}")
    console.print(f"Site     {out / 'index.html'}", soft_wrap=True)
    return True


def _verify_branch(base: str, head: str, content: JsonObject) -> bool:
    """Verify the proposal of a branch of this repository; return whether it may be merged."""
    from ragen_bench.leaderboard import EntryError
    from ragen_bench.leaderboard.plausibility import read_base_scores
    from ragen_bench.leaderboard.pull_request import (
        Branch,
        read_base_draw,
        read_proposal,
        read_proposed_announcement,
        write_proposal,
    )
    from ragen_bench.terminal.console import plain_console

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
            console.print("The branch changes no entry, so nothing was verified.")
            return True
        content.update(does=proposed.does, entry=proposed.name)
        console.print(_CHANGES[proposed.does].format(proposed.name), soft_wrap=True)
        if not proposed.files:
            return True
        with tempfile.TemporaryDirectory(prefix="ragen-entry-") as folder:
            entry = write_proposal(branch, proposed, Path(folder))
            draws = partial(read_base_draw, branch)
            return verify_entry(entry, content, draws, read_base_scores(branch, proposed.name))
    except EntryError as error:
        content["problem"] = "; ".join(error.args)
        console.print(f"NOT verified: {content['problem']}", soft_wrap=True)
        return False
