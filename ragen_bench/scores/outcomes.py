"""The ends of baselines' episodes, and their shipped files.

A file has the SHA-256 of the rest, and that is JSON, compressed by LZMA: for val and test the hash
of the specification that was played, and for each player its episodes by instance and sample.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from ragen_bench.json_types import JsonObject
from ragen_bench.models.scripted import RandomModel
from ragen_bench.runs.specification import spec_hash
from ragen_bench.visible import write_error
from ragen_envs.core.instances import SHIPPED_SPLITS, Split
from ragen_envs.registration import IDS, find_blind_script

Player = Literal["random", "blind", "oracle"]
PLAYERS: tuple[Player, ...] = get_args(Player)
SAMPLES: dict[Player, int] = {"random": 16, "blind": 4, "oracle": 16}
"""Episodes of a player on each instance."""
FOLDER = Path(__file__).with_name("shipped")
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class PlayedOutcome:
    """The end of a baseline's episode."""

    index: int
    sample: int
    success: bool | None
    score: float | None
    ceiling: float | None
    episode_return: float
    turns: int


_COLUMNS = tuple(field.name for field in fields(PlayedOutcome))[2:]


def order_by_end(outcomes: Sequence[PlayedOutcome], indices: Sequence[int]) -> list[PlayedOutcome]:
    """Return the outcomes of some instances in the order in which `play` ends the episodes.

    All slots take a turn at a time. The intervals of the bootstrap depend on the order.
    """
    by_index: dict[int, list[PlayedOutcome]] = {}
    for outcome in outcomes:
        by_index.setdefault(outcome.index, []).append(outcome)
    waiting = ((outcome, outcome.turns) for index in indices for outcome in by_index[index])
    running = list(islice(waiting, RandomModel.slots))
    ended: list[PlayedOutcome] = []
    while running:
        ended += [outcome for outcome, left in running if left == 1]
        running = [(outcome, left - 1) for outcome, left in running if left > 1]
        running += islice(waiting, RandomModel.slots - len(running))
    return ended


def find_shipped(player: Player, env: str, split: Split) -> list[PlayedOutcome] | None:
    """Return the shipped episodes of a player; None without those of this specification."""
    if env not in IDS or split not in SHIPPED_SPLITS:
        return None
    shipped = _read(env).get(split)
    if shipped is None or shipped["specification"] != spec_hash(env, split, "plain"):
        return None
    if player == "blind" and shipped.get("script") != _list_script(env):
        return None
    return list(_unpack(shipped[player], SAMPLES[player]))


@cache
def _read(env: str) -> JsonObject:
    """Return the shipped file of an environment; {} if it is missing or damaged."""
    file = _file_of(env)
    shipped = unpack_file(file.read_bytes()) if file.is_file() else None
    if shipped is None:
        write_error(
            f"ragen-bench: {file} is missing or damaged, so baselines are played again; "
            "install the package again\n"
        )
    return shipped or {}


def pack_file(
    env: str, splits: Mapping[Split, Mapping[Player, Sequence[PlayedOutcome]]]
) -> tuple[Path, bytes]:
    """Return the shipped file of an environment and its content."""
    content = {
        split: {
            "specification": spec_hash(env, split, "plain"),
            "script": _list_script(env),
            **{player: _pack(outcomes, SAMPLES[player]) for player, outcomes in players.items()},
        }
        for split, players in splits.items()
    }
    packed = lzma.compress(json.dumps(content).encode(), preset=9)
    return _file_of(env), sha256(packed).digest() + packed


def unpack_file(content: bytes) -> JsonObject | None:
    """Return the content of a shipped file; None if it is damaged."""
    digest, packed = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if sha256(packed).digest() != digest:
        return None
    shipped: JsonObject = json.loads(lzma.decompress(packed))
    return shipped


def _list_script(env: str) -> list[list[str]] | None:
    script = find_blind_script(env)
    return None if script is None else [list(turn) for turn in script]


def _file_of(env: str) -> Path:
    return FOLDER / f"{env.partition('/')[2]}.json.xz"


def _pack(outcomes: Sequence[PlayedOutcome], samples: int) -> JsonObject:
    """Return the columns; one that is equal for all samples has a value for each instance."""
    ordered = sorted(outcomes, key=lambda outcome: (outcome.index, outcome.sample))
    columns: JsonObject = {"instances": len(ordered) // samples}
    for name in _COLUMNS:
        values = [getattr(outcome, name) for outcome in ordered]
        first = values[::samples]
        is_constant = values == [value for value in first for _ in range(samples)]
        columns[name] = first if is_constant else values
    return columns


def _unpack(columns: JsonObject, samples: int) -> Iterator[PlayedOutcome]:
    size = columns["instances"] * samples
    whole = [
        values if len(values) == size else [value for value in values for _ in range(samples)]
        for values in (columns[name] for name in _COLUMNS)
    ]
    for number, values in enumerate(zip(*whole, strict=True)):
        yield PlayedOutcome(*divmod(number, samples), *values)
