"""Regenerates the shipped val and test instances: ``python -m ragen_envs.build_held_out``.

With ``--check`` nothing is written; the command fails if a shipped file is not what the
generators give, byte for byte.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ragen_envs.held_out import write
from ragen_envs.instances import SHIPPED_SPLITS, held_out
from ragen_envs.registration import TABLE, env_class


def held_out_files() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of every held-out file.

    The variants of a game are filled in the order of the table, and none repeats an instance of
    an earlier one, up to symmetry, unless the game allows it.
    """
    taken: dict[str, set[str]] = {}
    for name in TABLE:
        env = env_class(name)(name)
        folder = Path(sys.modules[type(env).__module__].__file__ or "").parent
        for split in SHIPPED_SPLITS:
            used = set() if env.variants_share_instances else taken.setdefault(env.game, set())
            instances = held_out(env.candidates, name, split, used)
            path = folder / env.held_out_files.format(name=name, split=split)
            yield path, write(env.write_instance(instance) for instance in instances)


def main() -> int:
    """Write the files, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    differing = 0
    for path, text in held_out_files():
        if check:
            same = path.is_file() and path.read_bytes() == text.encode()
            differing += not same
            sys.stdout.write(f"{'same' if same else 'DIFFERS'}  {path.name}\n")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            sys.stdout.write(f"wrote  {path.name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
