"""Measures training on the device that is there, for some minutes, and writes all of it down.

    python scripts/gpu_smoke.py --out smoke --page docs/results/gpu.md   # ten minutes on a GPU
    python scripts/gpu_smoke.py --out smoke --scale tiny                 # the same on two cores

The stages are those of gpu_smoke_stages.py, each in a process of its own: one that fails, hangs or
has no time left is written down in a line, and the next one begins. After each step of a stage
DIR/gpu.json has all figures and DIR/gpu.md a page of them, so that whoever ends this loses nothing.
With --page the figures also replace those of that page; --minutes 0 only does that, with the
figures that DIR has from another machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from gpu_smoke_measures import commit_here
from gpu_smoke_page import Record

from ragen_bench.errors import UserError

ENDS = {"device": 0.1, "float32": 0.3, "bfloat16": 0.55, "training": 0.95}
"""The share of the minutes after which each stage begins nothing more."""
SPARE = 0.1
"""The share that a stage may take longer before it is stopped."""
STAGES = Path(__file__).with_name("gpu_smoke_stages.py")


def main(arguments: list[str] | None = None) -> int:
    """Run the stages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="of the figures")
    parser.add_argument("--page", type=Path, metavar="FILE", help="whose figures are replaced")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="(default: 10)")
    parser.add_argument("--scale", choices=("gpu", "tiny"), default="gpu", help="of the models")
    parser.add_argument("--model", type=Path, metavar="DIR", help="to train, in place of one made")
    parser.add_argument("--commit", metavar="HASH", help="where there is no git to ask")
    given = parser.parse_args(arguments)
    try:
        record = Record(given.out, given.page)
        if given.minutes:
            _check(given)
            _begin(record, given, arguments if arguments is not None else sys.argv[1:])
            run(record, given)
        elif not record.found:
            raise UserError(f"{given.out} has no gpu.json to write a page of")
        record.write()
    except UserError as error:
        sys.stderr.write(f"gpu_smoke: {error}\n")
        return error.exit_code
    sys.stdout.write((given.out / "gpu.md").read_text(encoding="utf-8"))
    return 0


def run(record: Record, given: argparse.Namespace) -> None:
    """Run all stages, each for its share of the time."""
    start, whole = time.time(), 60 * given.minutes
    with TemporaryDirectory() as work:
        for name, share in ENDS.items():
            until = start + share * whole
            if time.time() >= until:
                record.stage(name)["failed"] = "no time was left"
                continue
            model = ["--model", str(given.model)] if given.model else []
            page = ["--page", str(given.page)] if given.page else []
            command = [
                *(name, "--out", str(given.out), "--work", work, "--scale", given.scale),
                *("--until", str(until), *model, *page),
            ]
            began = time.time()
            failed = run_in_subprocess(
                command, until + SPARE * whole - began, given.out / f"{name}.log"
            )
            record.read()
            stage = record.stage(name)
            stage["seconds"] = round(time.time() - began, 3)
            if failed:
                stage["failed"] = failed
            record.write()


def run_in_subprocess(command: list[str], seconds: float, log: Path) -> str | None:
    """Run a stage in a subprocess, and return a line if it fails.

    Args:
        command: Arguments of gpu_smoke_stages.py.
        seconds: Time limit.
        log: File for its output.
    """
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                [sys.executable, str(STAGES), *command],
                stdout=file,
                stderr=file,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"stopped after {seconds:.0f} s"
    if not done.returncode:
        return None
    printed = log.read_text(encoding="utf-8", errors="replace").strip()
    last = printed[printed.rfind("\n") + 1 :].removeprefix("[rank0]: ")
    return f"ended with {done.returncode}: {last}"


def _check(given: argparse.Namespace) -> None:
    if not torch.cuda.is_available() and given.scale != "tiny":
        raise UserError("torch finds no GPU here; --scale tiny runs on a CPU")
    if given.model and not (given.model / "config.json").is_file():
        raise UserError(f"no model in {str(given.model)!r}: it has no config.json")


def _begin(record: Record, given: argparse.Namespace, arguments: list[str]) -> None:
    commit = given.commit or commit_here()
    record.found = {
        "command": "gpu_smoke.py " + " ".join(arguments),
        "commit": commit,
        "minutes": given.minutes,
        "weights": given.model.name if given.model else None,
        "stages": {},
    }
    record.write()


if __name__ == "__main__":
    sys.exit(main())
