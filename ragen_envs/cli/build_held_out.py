"""Regenerates the shipped val and test instances: ``python -m ragen_envs.cli.build_held_out``.

Ids choose environments; by default all. With ``--check`` it writes nothing, and fails if a shipped
file differs from the generated one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ragen_envs.core.game_spec import NAMESPACE, GameSpec
from ragen_envs.core.held_out import write
from ragen_envs.core.instances import SHIPPED_SPLITS, Split, held_out
from ragen_envs.core.visible import write_out
from ragen_envs.registration import GAMES, IDS, find_game, load_class


class HeldOutFile(NamedTuple):
    """A held-out file of an environment as generated now, with the content that it must have."""

    env_id: str
    split: Split
    path: Path
    text: str

    @property
    def is_shipped(self) -> bool:
        """Whether the file has exactly this content."""
        return self.path.is_file() and self.path.read_bytes() == self.text.encode()


def held_out_files(
    games: Iterable[GameSpec] = GAMES, only: str | None = None
) -> Iterator[HeldOutFile]:
    """Generate all files, or those of the id `only`; no repeats unless a game allows them."""
    for game in games:
        taken: dict[Split, set[str]] = {split: set() for split in SHIPPED_SPLITS}
        for env_id in game.ids:
            yield from _files_of(env_id, taken, only)
            if env_id == only:
                return


def _files_of(env_id: str, taken: dict[Split, set[str]], only: str | None) -> Iterator[HeldOutFile]:
    """Yield the files of one id, and add its instances to those that the game has used."""
    name = env_id.partition("/")[2]
    env = load_class(env_id)(name)
    if not env.held_out_files or (env.variants_share_instances and only not in (None, env_id)):
        return
    folder = Path(sys.modules[type(env).__module__].__file__ or "").parent
    for split in SHIPPED_SPLITS:
        used = set() if env.variants_share_instances else taken[split]
        instances = held_out(
            env.generate_instances, name, split, used, size=env.held_out_size(name)
        )
        path = folder / env.held_out_files.format(name=name, split=split)
        if only in (None, env_id):  # the other ids only fill `taken`
            text = write(env.write_instance(instance) for instance in instances)
            yield HeldOutFile(env_id, split, path, text)


def main() -> int:
    """Write the files, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("ids", nargs="*", metavar="ID", help="such as Sokoban-v0; default: all")
    arguments = parser.parse_args()
    check = arguments.check
    full = [id_ if "/" in id_ else f"{NAMESPACE}/{id_}" for id_ in arguments.ids]
    if unknown := [id_ for id_ in full if id_ not in IDS]:
        parser.error(f"unknown id {unknown[0]!r}; choose from: {', '.join(IDS)}")
    differing = 0
    chosen = (held_out_files([find_game(id_)], only=id_) for id_ in full)
    for file in chain.from_iterable(chosen) if full else held_out_files():
        if check:
            differing += not file.is_shipped
            write_out(f"{'same' if file.is_shipped else 'DIFFERS'}  {file.path.name}\n")
        else:
            file.path.parent.mkdir(exist_ok=True)
            file.path.write_text(file.text, encoding="utf-8", newline="\n")
            write_out(f"wrote  {file.path.name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
