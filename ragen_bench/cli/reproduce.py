"""`reproduce`: an entry's evaluation at another seed, beside the entry."""

from __future__ import annotations

import argparse
from pathlib import Path

from ragen_bench.cli.evaluate import run_evaluate
from ragen_bench.errors import UserError, missing_extra
from ragen_bench.leaderboard import read_entry, reproduction
from ragen_bench.runs.directory import Record
from ragen_bench.runs.json_lines import read_whole, write_whole

try:
    from rich.console import Console

    from ragen_bench.cli.verify import run_verify
    from ragen_bench.console.plain import plain_console
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Verify and rerun an entry, print both scores, and return 1 if an interval does not overlap.

    The same command resumes. `reproduction.json` in the run directory says what was compared.

    Raises:
        UserError: if there is no entry, or the model cannot be evaluated.
    """
    # Not after hours of answers that the figures of the entry are none.
    code = run_verify(arguments.entry, None)
    if code:
        return code
    entry = read_entry(arguments.entry)
    config, name = entry["run"], arguments.entry.absolute().name
    seed = config["seed"] + 1
    out = arguments.out or Path("runs") / f"reproduce_{name}_seed{seed}"
    code = run_evaluate(_evaluation(arguments, config, seed, out))
    if code:
        return code
    rerun = read_whole(out / "summary.json")
    if rerun["episodes"] < rerun["planned"]:
        raise UserError("the rerun is incomplete; the same command goes on from there", exit_code=1)
    found = {
        "entry": name,
        "episodes_sha256": entry["episodes_sha256"],
        "model": arguments.model,
        "seed": seed,
        **reproduction(entry["summary"], rerun),
    }
    file = out / "reproduction.json"
    write_whole(file, found)
    console = plain_console()
    _print(console, found)
    console.print(f"JSON    {file}", soft_wrap=True)
    return 0 if found["reproduced"] else 1


def _evaluation(
    arguments: argparse.Namespace, config: Record, seed: int, out: Path
) -> argparse.Namespace:
    """Return the arguments of `evaluate` for an entry's settings at a seed."""
    history = config["history"]
    settings = {
        "suite": config["suite"],
        "env": None,
        "limit": None,
        "split": config["split"],
        "samples": config["samples"],
        "seed": seed,
        "temperature": config["temperature"],
        "max_tokens": config["max_tokens"],
        "format": config["response_format"],
        "history": "full" if history is None else "none" if history == 0 else str(history),
        "constrain": config["constrained"],
        "opponent": None,
        "opponent_format": None,
        "opponent_base_url": None,
        "out": out,
    }
    return argparse.Namespace(**{**vars(arguments), **settings})


def _print(console: Console, found: Record) -> None:
    rows = [("suite", found["suite"])]
    rows += [(each["env"].partition("/")[2], each) for each in found["envs"]]
    console.print(f"{'score, 95 %':<18} {'entry':>26} {'rerun':>26}")
    for name, each in rows:
        entry, rerun = (_cell(each[side], each[f"{side}_interval"]) for side in ("entry", "rerun"))
        overlap = "overlap" if each["overlap"] else "APART"
        console.print(f"{name:<18} {entry:>26} {rerun:>26}  {overlap}", soft_wrap=True)
    console.print("Reproduced." if found["reproduced"] else "NOT reproduced.")


def _cell(value: float, bounds: list[float]) -> str:
    return f"{value:.3f} ({bounds[0]:.3f} to {bounds[1]:.3f})"
