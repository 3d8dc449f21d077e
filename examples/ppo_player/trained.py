"""Which weights play which game.

They are made by the benchmark, in some ten minutes each, and are not in the repository:

    export PYTHONPATH=. OMP_NUM_THREADS=1
    for game in Sokoban SokobanLarge FrozenLake; do
        options="--steps 800000 --save examples/ppo_player/$game-v0.npz"
        python benchmarks/ppo_baseline.py --env ragen/$game-v0 $options
    done

The hash of this file is recorded with a run, and with it the hashes of the weights. For weights of
your own, write theirs in.
"""

from __future__ import annotations

from typing import NamedTuple

SOKOBAN = ("wall", "floor", "target", "box", "box on target", "player", "player on target")
FROZEN_LAKE = ("ice", "hole", "goal", "player", "player in a hole", "player on the goal")
"""What a square can show, in the order of the planes, as `env.unwrapped.board.tiles` has it."""


class Policy(NamedTuple):
    """A trained policy.

    Attributes:
        file: its weights, in this folder.
        sha256: of that file.
        tiles: what a square can show, in the order in which it was trained on them.
    """

    file: str
    sha256: str
    tiles: tuple[str, ...]


_SOKOBAN = Policy(
    "Sokoban-v0.npz", "980e508d5a2de3234558196cb9be58051fe55a2023df56cc9aa89580c2ea90e6", SOKOBAN
)
TRAINED = {
    "ragen/Sokoban-v0": _SOKOBAN,
    "ragen/SokobanNewVocab-v0": _SOKOBAN,
    "ragen/SokobanLarge-v0": Policy(
        "SokobanLarge-v0.npz",
        "9de2b59aa2f9931dae680573255cbbaa12a7cbae07399537800954c86471260a",
        SOKOBAN,
    ),
    "ragen/FrozenLake-v0": Policy(
        "FrozenLake-v0.npz",
        "e79cd42339a522841c4eaea5015ffc36553980341a6a82c5f927ae32e044414a",
        FROZEN_LAKE,
    ),
}
"""By the game's id. NewVocab is played with the weights for Sokoban-v0: its arrays are the same."""
