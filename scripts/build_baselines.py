"""Writes the shipped episodes of the baselines, or compares them.

    python scripts/build_baselines.py [--check] [--blind] [ID ...]

Without ids it plays all environments of this package. With `--blind` it plays only the blind
scripts, after `build_blind.py`, and takes the other players from the shipped files.
"""

from __future__ import annotations

import os
import sys

from ragen_bench.cache import RECOMPUTE
from ragen_bench.scores.baselines import play_outcomes
from ragen_bench.scores.outcomes import PLAYERS, find_shipped, pack_file, unpack_file
from ragen_bench.suites import env_id, held_out_size, plays
from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.registration import IDS


def main(arguments: list[str]) -> int:
    """Write or compare the files, and return the exit code."""
    os.environ[RECOMPUTE] = "1"
    check = "--check" in arguments
    replayed = ("blind",) if "--blind" in arguments else PLAYERS
    ids = [env_id(name) for name in arguments if not name.startswith("--")]
    differing = 0
    for env in ids or IDS:
        players = [player for player in PLAYERS if plays(player, env)]
        file, content = pack_file(
            env,
            {
                split: {
                    player: play_outcomes(player, env, split, range(held_out_size(env)))
                    if player in replayed
                    else find_shipped(player, env, split) or []
                    for player in players
                }
                for split in SHIPPED_SPLITS
            },
        )
        # Not the bytes, which depend on the version of the compression.
        same = file.is_file() and unpack_file(file.read_bytes()) == unpack_file(content)
        differing += not same
        if not (check or same):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        state = "same" if same else "differs" if check else "wrote"
        sys.stdout.write(f"{state}  {file.name}, {len(content):,} bytes\n")
        sys.stdout.flush()
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
