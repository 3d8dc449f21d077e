"""Packing of a run's episodes into a page: compressed chunks, and a small index over them.

A page must open fast and stay small, with ten thousand episodes too. So the browser gets the index
at once, and opens a chunk when an episode in it is looked at.
"""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragen_bench.environments import find_class
from ragen_bench.opponents.wording import describe_replies
from ragen_bench.runs.schema import EpisodeRecord, Object

CHUNK_CHARACTERS = 1 << 18
"""JSON characters in a chunk; an episode that is longer has a chunk of its own. The more, the less
is gained: gzip looks back 32 KiB only."""
_KEPT = (
    "instance",
    "ceiling",
    "optimal_length",
    "outcome",
    "success",
    "score",
    "return",
    "turns",
    "final_observation",
)
_NO_LABEL = -1


class Pack:
    """A run's episodes on their way into a page.

    Args:
        episodes: the episodes, in any order; they are read once, one chunk at a time.
        envs: the ids of the environments, in the order in which they are listed.
        labels: what went wrong in an episode, by `ENV/INDEX/SAMPLE`; not all need one.
        prompt: how the model's messages were put together, if the page is to show them.
    """

    def __init__(
        self,
        episodes: Iterable[EpisodeRecord],
        envs: Sequence[str],
        labels: Mapping[str, str],
        prompt: Object | None = None,
    ) -> None:
        self._episodes = episodes
        self._envs = list(envs)
        self._labels = labels
        self._prompt = prompt
        self._rows: list[list[Any]] = []
        self._outcomes: dict[str, int] = {}
        self._label_names: dict[str, int] = {}

    def chunks(self) -> Iterator[str]:
        """Yield the episodes: JSON lists, compressed by gzip, in base64."""
        held: list[str] = []
        size = closed = 0
        for episode in self._episodes:
            text = _json(_kept(episode))
            if held and size + len(text) > CHUNK_CHARACTERS:
                yield _packed(f"[{','.join(held)}]")
                held, size, closed = [], 0, closed + 1
            self._rows.append([*self._row(episode), closed, len(held)])
            held.append(text)
            size += len(text)
        if held:
            yield _packed(f"[{','.join(held)}]")

    def index(self) -> str:
        """Return the index over the chunks that were yielded, packed as they are.

        It lists environments, outcomes and labels by name, the prompt, and then a row for each
        episode: numbers of environment, index, sample, outcome, label (-1 for none), turns, return,
        chunk, place in the chunk. Rows are in the order of environment, index and sample. The index
        is a text, since a script would round that of a large seed.
        """
        return _packed(
            _json(
                {
                    "envs": self._envs,
                    "outcomes": list(self._outcomes),
                    "labels": list(self._label_names),
                    "prompt": self._prompt,
                    "rows": [
                        [env, str(index), *rest]
                        for env, index, *rest in sorted(self._rows, key=lambda row: row[:3])
                    ],
                }
            )
        )

    def _row(self, episode: EpisodeRecord) -> list[Any]:
        env, index, sample = episode.env, episode.index, episode.sample
        outcome = self._outcomes.setdefault(episode.outcome, len(self._outcomes))
        label = self._labels.get(f"{env}/{index}/{sample}")
        named = (
            _NO_LABEL
            if label is None
            else self._label_names.setdefault(label, len(self._label_names))
        )
        turns, gained = len(episode.turns), episode.episode_return
        return [self._envs.index(env), index, sample, outcome, named, turns, gained]


def _kept(episode: EpisodeRecord) -> Object:
    """Return what the page shows of an episode; of an opponent only where there is one."""
    fields = episode.as_json()
    kept = {name: fields[name] for name in _KEPT}
    return kept | _opponent_of(fields) if "opponent" in fields else kept


def _opponent_of(episode: Object) -> Object:
    """Return an episode's turns with the opponent's replies in words, and their counts."""
    game = find_class(episode["env"])
    turns = [
        {**turn, "opponent": {**turn["opponent"], **game.report_reply(turn["opponent"])._asdict()}}
        if "opponent" in turn
        else turn
        for turn in episode["turns"]
    ]
    counts = describe_replies(episode["env"], episode["opponent"])
    overflowed = episode["opponent"]["overflowed"]
    return {"turns": turns, "opponent": {"counts": counts, "overflowed": overflowed}}


def _packed(text: str) -> str:
    # No time in the header: the same run gives the same page.
    return b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # Python reads NaN from a file, browsers do not
        return json.dumps(_named(value), separators=(",", ":"))


def _named(value: Any) -> Any:
    """Return the value with the numbers that JSON lacks by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_named(item) for item in value]
    if isinstance(value, dict):
        return {name: _named(item) for name, item in value.items()}
    return value
