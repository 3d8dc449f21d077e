"""`submit`: from a run directory to an entry of the leaderboard."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.leaderboard import About, apart, entry_name, pack
from ragen_bench.leaderboard.files import EPISODES
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.cost import load_prices

try:
    from ragen_bench.console.plain import plain_console
    from ragen_bench.console.progress import episodes_bar
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

_SIZE = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([KMBT]?)", re.IGNORECASE).fullmatch
_ZEROS = {"": 0, "K": 3, "M": 6, "B": 9, "T": 12}


def run_submit(arguments: argparse.Namespace) -> int:
    """Pack a run, and print where the entry is and what to do with it.

    Raises:
        UserError: for anything in the command that cannot be, or a run that cannot be an entry.
    """
    about = About(
        name=arguments.name,
        submitter=arguments.submitter,
        contact=arguments.contact,
        link=arguments.link,
        parameters=_parameters(arguments.parameters),
        open_weights=arguments.open_weights,
        date=arguments.date,
    )
    prices = load_prices(arguments.prices)
    config = read_run(arguments.directory).config
    out = arguments.out or Path("leaderboard/entries") / entry_name(
        about.name, config["suite"], config["split"]
    )
    console = plain_console()
    with episodes_bar(console, "Replaying") as progress:
        entry = pack(arguments.directory, out, about, prices, progress)
    packed = (out / EPISODES).stat().st_size
    console.print(f"Entry     {out}", soft_wrap=True)
    console.print(f"Episodes  {entry['summary']['episodes']:,}, {packed:,} bytes packed")
    console.print(f"Score     {entry['summary']['suite_score']} on {config['suite']}")
    differing = apart(config)
    if differing:
        console.print(f"Apart     {', '.join(differing)}: not ranked beside the others")
    console.print(f"Command   {config['command']} (published, as all of run.json)", soft_wrap=True)
    console.print(f"Next      ragen-bench verify {out}", soft_wrap=True)
    return 0


def _parameters(given: str | None) -> int | None:
    """Return a model's size: 1.5B is 1,500,000,000.

    Raises:
        UserError: if it is no such number.
    """
    if given is None:
        return None
    match = _SIZE(given)
    if match:
        whole, part, unit = match[1], match[2] or "", match[3].upper()
        zeros = _ZEROS[unit] - len(part)
        size = int(whole + part + "0" * zeros) if zeros >= 0 else 0
        if 0 < size < 10**18:
            return size
    raise UserError(f"--parameters is a number such as 135M, 7B or 1500000, got {given!r}")
