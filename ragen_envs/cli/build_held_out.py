"""Regenerates the shipped val and test instances: ``python -m ragen_envs.cli.build_held_out``.

With ``--check`` nothing is written; the command fails if a shipped file is not what the
generators give, byte for byte.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from ragen_envs.core.held_out import write
from ragen_envs.core.instances import SHIPPED_SPLITS, Split, held_out
from ragen_envs.registration import TABLE, env_class


class HeldOutFile(NamedTuple):
    """A shipped file as the generators give it now.

    Attributes:
        name: the variant.
        split: "val" or "test".
        path: where it lies in the package.
        text: what it must hold.
    """

    name: str
    split: Split
    path: Path
    text: str

    @property
    def is_shipped(self) -> bool:
        """Whether the package holds these very bytes."""
        return self.path.is_file() and self.path.read_bytes() == self.text.encode()


def held_out_files(
    games: Collection[str] | None = None, only: str | None = None
) -> Iterator[HeldOutFile]:
    """Generate the held-out files, those of all games if none are named.

    The variants of a game are filled in the order of the table, and none repeats an instance of
    an earlier one, up to symmetry, unless the game allows it.

    Args:
        games: whose files.
        only: the one variant whose files are wanted.
    """
    taken: dict[str, set[str]] = {}
    for name in TABLE:
        if games is not None and env_class(name).game not in games:
            continue
        env = env_class(name)(name)
        if env.variants_share_instances and only not in (None, name):
            continue
        folder = Path(sys.modules[type(env).__module__].__file__ or "").parent
        for split in SHIPPED_SPLITS:
            used = set() if env.variants_share_instances else taken.setdefault(env.game, set())
            instances = held_out(
                env.generate_instances, name, split, used, size=env.held_out_size(name)
            )
            path = folder / env.held_out_files.format(name=name, split=split)
            if only in (None, name):  # others are generated for what they take away alone
                text = write(env.write_instance(instance) for instance in instances)
                yield HeldOutFile(name, split, path, text)
        if name == only:
            return


def main() -> int:
    """Write the files, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    differing = 0
    for file in held_out_files():
        if check:
            differing += not file.is_shipped
            sys.stdout.write(f"{'same' if file.is_shipped else 'DIFFERS'}  {file.path.name}\n")
        else:
            file.path.parent.mkdir(exist_ok=True)
            file.path.write_text(file.text, encoding="utf-8", newline="\n")
            sys.stdout.write(f"wrote  {file.path.name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
