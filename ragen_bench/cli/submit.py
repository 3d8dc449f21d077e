"""`submit`: packs a run directory as an entry of the leaderboard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.shared_options import DrawsOptions, PriceOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError

_read_size = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([KMBT]?)", re.IGNORECASE).fullmatch
_ZEROS = {"": 0, "K": 3, "M": 6, "B": 9, "T": 12}


@dataclass(frozen=True, kw_only=True)
class Submit(DrawsOptions, PriceOptions, Command):
    """Packs a finished run as an entry of the leaderboard.

    Writes a directory with entry.json and the compressed episodes. All of it is published: the
    whole run.json, with the command line, and every response.
    """

    directory: Annotated[Path, Argument("RUN")]
    name: Annotated[str, Option("TEXT", "name of the model in the table")]
    submitter: Annotated[str, Option("TEXT", "name of the submitter")]
    contact: Annotated[str | None, Option("TEXT", "contact of the submitter")] = None
    link: Annotated[str | None, Option("URL", "page about the model")] = None
    parameters: Annotated[str | None, Option("N", "the model's size: 135M, 7B, 1500000")] = None
    open_weights: Annotated[
        bool | None,
        Option(None, "whether the weights are public (default: not stated)"),
    ] = None
    date: Annotated[
        str | None, Option("DAY", "date of the run, YYYY-MM-DD (default: not stated)")
    ] = None
    out: Annotated[
        Path | None,
        Option("DIR", "the entry (default: leaderboard/entries/NAME_SUITE_SPLIT)"),
    ] = None

    def run(self) -> int:
        """Pack the run, and print where the entry is and the next step."""
        from ragen_bench.leaderboard import About, make_entry_name, nondefault_settings, pack
        from ragen_bench.leaderboard.files import EPISODES
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.progress import episodes_bar

        about = About(
            name=self.name,
            submitter=self.submitter,
            contact=self.contact,
            link=self.link,
            parameters=_parse_size(self.parameters),
            open_weights=self.open_weights,
            date=self.date,
        )
        prices, draws = load_prices(self.prices), self.find_draw()
        config = read_run(self.directory).config
        out = self.out or Path("leaderboard/entries") / make_entry_name(
            about.name, config.suite, config.split
        )
        console = plain_console()
        with episodes_bar(console, "Replaying") as progress:
            entry = pack(self.directory, out, about, prices, progress, draws)
        summary, size = entry["summary"], (out / EPISODES).stat().st_size
        lines = [
            f"Entry     {out}",
            f"Episodes  {summary['episodes']:,}, {size:,} bytes packed",
            f"Score     {summary['suite_score']} on {config.suite}",
        ]
        if differing := nondefault_settings(config):
            lines.append(f"Apart     {', '.join(differing)}: not ranked with the others")
        lines.append(f"Command   {config.command} (published, as all of run.json)")
        draws_option = "" if self.draws is None else f" --draws {self.draws}"
        lines.append(f"Next      ragen-bench verify {out}{draws_option}")
        console.print("\n".join(lines), soft_wrap=True)
        return 0


def _parse_size(text: str | None) -> int | None:
    """Return a number of parameters: 1.5B is 1,500,000,000."""
    if text is None:
        return None
    match = _read_size(text)
    if match:
        whole, decimals, unit = match[1], match[2] or "", match[3].upper()
        zeros = _ZEROS[unit] - len(decimals)
        size = int(whole + decimals + "0" * zeros) if zeros >= 0 else 0
        if 0 < size < 10**18:
            return size
    raise UserError(f"--parameters must be a number such as 135M, 7B or 1500000, got {text!r}")
