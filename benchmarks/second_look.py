"""Measures the second look at a finished run: `report`, `compare` and a repeated `evaluate`.

    PYTHONPATH=. python benchmarks/second_look.py [SUITE]

Plays two runs of the random player, then times each command in a process of its own: `before` with
every baseline and analysis computed anew, `after` with the shipped baselines and the cache, which
the first `report` has filled. The commands alternate, so that both meet the same machine.
The times are CPU seconds of the process, which other work on the machine changes little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory

_ROUNDS = 2
_PROGRAM = "import sys; from ragen_bench.cli import main; sys.exit(main(sys.argv[1:]))"
_PLAY_ALL = (
    "from pathlib import Path; from ragen_bench.scores import outcomes; "
    "outcomes.FOLDER = Path('nowhere'); "
)


def run(words: str, environment: dict[str, str], program: str = _PROGRAM) -> float:
    """Run a command of ragen-bench and return its CPU seconds."""
    begin = _count_cpu_seconds()
    subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        check=True,
        env={**os.environ, "RAGEN_RECOMPUTE": "", **environment},
        capture_output=True,
    )
    return _count_cpu_seconds() - begin


def _count_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a row for each command."""
    suite = sys.argv[1] if len(sys.argv) > 1 else "core"
    with TemporaryDirectory() as folder:
        kept = {"RAGEN_CACHE": folder, "XDG_CONFIG_HOME": folder}
        a, b = (f"{folder}/{name}" for name in "ab")
        play = f"evaluate random --suite {suite}"
        commands = {
            "report": f"report {a}",
            "compare": f"compare {a} {b}",
            "evaluate": f"{play} --out {a}",
        }
        run(commands["evaluate"], kept)
        run(f"{play} --seed 1 --out {b}", kept)
        sys.stdout.write(f"{suite}: CPU seconds, best of {_ROUNDS}\n")
        for name, words in commands.items():
            before, after = [], []
            for _ in range(_ROUNDS):
                before.append(run(words, {"RAGEN_RECOMPUTE": "1"}, _PLAY_ALL + _PROGRAM))
                after.append(run(words, kept))
            first, second = min(before), min(after)
            ratio = first / second
            sys.stdout.write(
                f"{name:<9} before {first:6.2f}  after {second:5.2f}  ratio {ratio:5.1f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
