"""`replay`: whether a run's record is what its answers lead to."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError, missing_extra
from ragen_bench.runs.config_check import config_differences
from ragen_bench.runs.directory import Key, read_run

try:
    from rich.console import Console
    from rich.progress import track
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


def run_replay(path: Path) -> int:
    """Replay every episode of a run, print what differs, and return 1 if anything does.

    Raises:
        UserError: if the directory holds no run, or a line that is no episode of it.
    """
    run = read_run(path)
    planned = sum(env["instances"] for env in run.config["envs"]) * run.config["samples"]
    console = Console(markup=False, highlight=False, emoji=False)
    with console.status("Computing the specifications of the environments ..."):
        different = list(config_differences(run.config))
    for one in different:
        console.print(f"run.json  {one}", soft_wrap=True)
    replayed = unequal = 0
    results = replay(run.config, run.episodes())
    if console.is_terminal:  # into a file a bar would leave an empty line
        results = iter(track(results, "Replaying", planned, console=console, transient=True))
    for key, problem in results:
        replayed += 1
        if problem:
            unequal += 1
            console.print(f"{_name(key)}  {problem}", soft_wrap=True)
    if not replayed:
        raise UserError(f"{path} holds no finished episode yet", exit_code=1)
    specification = "differs, see above" if different else "as this version computes it"
    console.print(f"Specification: {specification}.")
    console.print(
        f"Replayed {replayed:,} of {planned:,} planned episodes: {replayed - unequal:,} equal, "
        f"{unequal:,} different."
    )
    return 1 if different or unequal else 0


def _name(key: Key | None) -> str:
    return "/".join(map(str, key)) if key else "an episode"
