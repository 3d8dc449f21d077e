"""`leaderboard`: builds the site, serves it here, checks a branch, answers announcements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command, Group
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True)
class Check(JsonOptions, Command):
    """Verifies the entry that a branch adds or changes, as is done with a pull request.

    The entry, or the announcement, is taken out of git: nothing of the branch is run. Ends with
    exit code 1 if it is refused, or if the branch changes anything else.
    """

    base: Annotated[str, Argument("BASE", "a commit of the branch it goes into")]
    head: Annotated[str, Argument("HEAD", "its last commit")] = "HEAD"

    def run(self) -> int:
        """Verify the entry; return 1 if it is refused."""
        from ragen_bench.console.verification import verify_branch

        with self.output() as content:
            content["verified"] = verify_branch(self.base, self.head, content)
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

        from ragen_bench.console.plain import plain_console
        from ragen_bench.leaderboard.announcements.draws import draw_all
        from ragen_bench.visible import visible

        console = plain_console()
        code = 0
        for result in draw_all(self.leaderboard):
            name = visible(result.name)
            if result.problem:
                code = 1
                console.print(Text(f"REFUSED  {name}: {visible(result.problem)}"), soft_wrap=True)
            else:
                status = "drawn" if result.draw else "kept"
                console.print(Text(f"{status:<7}  {name}: {result.file}"), soft_wrap=True)
            if result.note:
                note = f"not an entry of the leaderboard: {visible(result.note)}"
                console.print(Text(f"note     {name}: {note}"), soft_wrap=True)
        return code


@dataclass(frozen=True, kw_only=True)
class _SiteOptions:
    """What both commands that build the site take."""

    leaderboard: Annotated[Path, Argument("LEADERBOARD", "a directory with entries/")] = Path(
        "leaderboard"
    )
    unverified: Annotated[
        bool,
        Option(None, "replay nothing: entries are marked, and their trajectories left out"),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Build(_SiteOptions, Command):
    """Writes the site, which opens from disk.

    Ends with exit code 1, and without a site, if an entry is refused.
    """

    out: Annotated[Path, Option("DIR", "the site; an older one there is replaced")] = Path("site")

    def run(self) -> int:
        """Build the site; return 1 if an entry is refused."""
        from ragen_bench.console.site import build

        return 0 if build(self.leaderboard, self.out, verified=not self.unverified) else 1


@dataclass(frozen=True, kw_only=True)
class Serve(_SiteOptions, Command):
    """Builds the site and serves it on this machine alone, until Ctrl-C."""

    out: Annotated[Path | None, Option("DIR", "keep the site in this directory")] = None
    port: Annotated[int, Option("N", "0 for a free one")] = 8000

    def run(self) -> int:
        """Serve the site; return 1 if an entry is refused."""
        from ragen_bench.console.site import serve

        served = serve(self.leaderboard, self.out, self.port, verified=not self.unverified)
        return 0 if served else 1


LEADERBOARD = Group(
    "Builds the leaderboard's site, serves it here, checks a branch, or answers announcements.",
    {"check": Check, "draw": Draw, "build": Build, "serve": Serve},
)
