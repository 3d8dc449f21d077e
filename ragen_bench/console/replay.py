"""The replay of a run: what differs, a line each."""

from __future__ import annotations

from ragen_bench.console.plain import plain_console
from ragen_bench.console.progress import replay_bar
from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError
from ragen_bench.runs.config_check import config_differences
from ragen_bench.runs.directory import RunDirectory


def print_replay(run: RunDirectory) -> bool:
    """Replay every episode of a run, print what differs, and return whether nothing does.

    Raises:
        UserError: if the run has no finished episode, or a line that is not an episode of it.
    """
    planned = run.config.planned
    console = plain_console()
    with console.status("Computing the specifications of the environments ..."):
        differences = list(config_differences(run.config))
    for difference in differences:
        console.print(f"run.json  {difference}", soft_wrap=True)
    replayed = unequal = 0
    with replay_bar(console, run) as advance:
        for key, problem in replay(run.config, run.episodes()):
            replayed += 1
            advance()
            if problem:
                unequal += 1
                console.print(f"{'/'.join(map(str, key))}  {problem}", soft_wrap=True)
    if not replayed:
        raise UserError(f"{run.path} holds no finished episode yet", exit_code=1)
    specification = "differs, see above" if differences else "as this version computes it"
    console.print(f"Specification: {specification}.")
    console.print(
        f"Replayed {replayed:,} of {planned:,} planned episodes: {replayed - unequal:,} equal, "
        f"{unequal:,} different."
    )
    return not (differences or unequal)
